"""``python -m fuzztui.engines SPEC --mutants [--diff ID]``: a target's mutants."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.loading import form_of
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import application_packages, load_target
from fuzztui.engines.mutants.harness_modules import is_test_file
from fuzztui.engines.mutants.late_modules import import_late_modules
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import Program, PythonMutant
from fuzztui.kernel.base.shards import Shard, parse_shard


def list_mutants(spec: Spec, diff: str | None = None) -> int:
    """Load the target and print its mutants as one JSON object. Returns the exit status.

    The object is ``{"mutants": [...], "warnings": [...]}``, or ``{"diff": "..."}`` for the mutant
    with the id ``diff``. The target's own output goes to stderr. Raises :class:`CannotStart`.
    """
    os.environ.update(spec.target.env)
    out = os.dup(1)
    os.dup2(2, 1)
    if spec.target.cwd:
        os.chdir(spec.target.cwd)
    guard = Guard(spec.target.timeout_s)
    application = Application(
        application_packages(spec.target), spec.target.exclude, EdgeTable(), CoverageMap(), guard
    )
    program = program_of(spec, application)
    target = load_target(spec.target, application)
    application.coverage.grow(application.table.size)
    executor = Executor(
        target.function,
        form_of(target, spec.engine, random.Random(0).randbytes),
        target.expected,
        coverage=application.coverage,
        guard=guard,
        fixture=Fixture(Path.cwd()),
    )
    if target.suite is not None:
        executor.prepare = target.suite.prepare
    import_late_modules(spec, executor, application, suite=target.suite)
    program.scan()
    answer: dict[str, Any]
    if diff is None:
        plain = [
            f"module {name} is nested too deeply to be instrumented: it has no mutants"
            for name in application.plain
        ]
        mutants = [described(m) for m in program.mutants]
        answer = {"mutants": mutants, "warnings": plain + program.warnings}
    elif diff in program.by_id:
        answer = {"diff": program.diff(program.by_id[diff])}
    else:
        raise CannotStart(
            f'there is no mutant "{diff:.200}" in the target; list the ids without --diff'
        )
    with os.fdopen(out, "w", encoding="utf-8") as file:
        json.dump(answer, file)
        file.write("\n")
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    return 0


def program_of(spec: Spec, application: Application) -> Program:
    """The program with the mutations of the ``[engine]`` table. Raises :class:`CannotStart`."""
    operators = _strings(spec, "operators") or list(DEFAULT_OPERATORS)
    return Program(application, operators, _strings(spec, "mutate"), shard_of(spec), left_out(spec))


def shard_of(spec: Spec) -> Shard | None:
    """The part of the mutants that the engine has; None: all. Raises :class:`CannotStart`."""
    text = spec.engine.options.get("shard") or ""
    try:
        return parse_shard(text) if text else None
    except ValueError as e:
        raise CannotStart(f"engine.shard: {e}") from None


def left_out(spec: Spec) -> Callable[[str], bool]:
    """Which files have no mutants: of a suite the tests, if they are in the package under test."""
    return is_test_file if spec.target.suite else lambda file: False


def _strings(spec: Spec, key: str) -> list[str]:
    value = spec.engine.options.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise CannotStart(f"engine.{key} must be a list of strings, not {value!r:.60}")
    return value


def described(mutant: PythonMutant) -> dict[str, Any]:
    """A mutant as a JSON object."""
    keys = ("id", "module", "file", "path", "line", "column", "end_line", "end_column")
    more = ("function", "operator", "before", "after", "static", "hash")
    return {key: getattr(mutant, key) for key in (*keys, *more)}
