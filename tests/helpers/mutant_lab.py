"""Programs made from source text, for tests of their mutants."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from fuzztui.engines.instrument.cache import SourceCache
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import TURNS_PER_SECOND, Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import Program, PythonMutant

TURNS = TURNS_PER_SECOND // 5
"""Fuel of a trial, in iterations: for 0.2 s."""


class Subject:
    """A module ``subject`` that was instrumented and scanned."""

    def __init__(
        self,
        source: str | bytes,
        operators: Sequence[str] = DEFAULT_OPERATORS,
        cache: Path | None = None,
    ) -> None:
        self.coverage = CoverageMap()
        self.guard = Guard(60.0, TURNS)  # fuel ends a trial, however busy the machine is
        self.application = Application(["subject"], [], EdgeTable(), self.coverage, self.guard)
        self.application.cache = SourceCache(cache)
        self.program = Program(self.application, operators)
        self.module = ModuleType("subject")
        data = source if isinstance(source, bytes) else source.encode()
        self.code = self.application.compile("subject", "/src/subject.py", data)
        self.execute(self.module)
        self.program.scan()

    def execute(self, module: ModuleType) -> None:
        sys.modules["subject"] = module  # dataclasses look themselves up
        try:
            exec(self.code, module.__dict__)
        finally:
            del sys.modules["subject"]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def mutants(self, operator: str = "", function: str = "") -> list[PythonMutant]:
        return [
            m
            for m in self.program.mutants
            if operator in ("", m.operator) and function in ("", m.function)
        ]

    @contextlib.contextmanager
    def mutated(self, mutant: PythonMutant | str) -> Iterator[None]:
        if isinstance(mutant, str):
            mutant = self.program.by_id[f"subject:{mutant}"]
        self.program.enter(mutant)
        try:
            yield
        finally:
            self.program.leave()

    def observed(self, function: str, *arguments: Any) -> int:
        """The coverage of a call."""
        self.coverage.clear()
        with contextlib.suppress(Exception):
            getattr(self.module, function)(*arguments)
        return self.coverage.collect()
