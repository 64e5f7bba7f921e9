"""Mutants of Python targets: a copy of their packages, in front of everything else on the path.

Nothing of the target is ever imported in this process: its own interpreter is asked where
modules lie, whether a mutant compiles and can be imported, and what its code is without line
numbers, by which equivalent and duplicate mutants are told.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.base.files import read_json, read_regular, replace_text
from fuzztui.base.text import visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.batch import BatchRunner
from fuzztui.fuzzfirst.build import Build
from fuzztui.fuzzfirst.build_tree import MAX_SOURCE, BuildTreeError, mutated
from fuzztui.fuzzfirst.duplicates import DuplicateMutants
from fuzztui.fuzzfirst.python_batch import LOAD_S, PythonBatch, ask
from fuzztui.fuzzfirst.python_output import PythonOutputs
from fuzztui.fuzzfirst.python_tree import copy_package
from fuzztui.fuzzfirst.reach import BuildReach, python_functions
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.fuzzfirst.threads import in_thread
from fuzztui.process.execute import ProcessMark

__all__ = ["PythonBackend"]

MIN_LIMIT_S = 10.0
TIMES_BASELINE = 20
"""A mutant may take so many times as long to be imported as the program."""

_LABEL = "mutant-builder"
_SAID = 500


class PythonBackend:
    """See ``MutantBackend``. A mutant's command is its directory."""

    def __init__(self, campaign: Campaign, home: RunDir) -> None:
        self._campaign = campaign
        self._home = home
        self._work = home.path.absolute() / "mutants" / "work" / "python"
        self._mark = ProcessMark(home.path, _LABEL)
        self._lock = asyncio.Lock()
        self._twins = DuplicateMutants()
        self._state: dict[str, Any] = {}

    @property
    def tree(self) -> Path:
        """A copy of the packages that are mutated: what goes in front of the path."""
        return self._work / "tree"

    @property
    def sources(self) -> list[tuple[str, str]]:
        """What is mutated: files of the tree, and which lines ("" for all). Once prepared."""
        return [(row["name"], row["lines"]) for row in self._state["sources"]]

    def known(self, digests: dict[str, str]) -> None:
        """See :class:`Ground`."""
        self._twins.known(digests)

    @property
    def digests(self) -> dict[str, str]:
        """See :class:`Ground`: here of the code."""
        return dict(self._twins.digests)

    def target(self, command: Sequence[str]) -> dict[str, Any]:
        """The copy first on the path; a harness file that was mutated is the mutant's."""
        target = self._campaign.target
        into = command[0]
        moved = {
            key: self._moved(target[key], into)
            for key in ("function", "generator", "compare")
            if target.get(key)
        }
        return {**target, **moved, "path": [into, *target["path"]]}

    def batch(self, command: Sequence[str], label: str) -> BatchRunner:
        """In a separate process, by the engine's own way of running inputs."""
        if not command:
            # The same cells in all batches: they are compared.
            edges = self._work.parent / "edges.json"
            return PythonBatch(self._campaign, self._home, label, edges)
        return self._batch(self.target(command), label)

    async def prepare(self, told: Callable[[str], None]) -> None:
        """Find the modules, copy their packages, and see that the copy takes their place.

        What an earlier start of the run has done is not done again. Raises
        :class:`SupervisorError` for what cannot be mutated.
        """
        async with self._lock:
            try:
                await asyncio.to_thread(self._mark.kill_leftovers)
                state = read_json(self._work / "state.json")
                asked = [list(source) for source in self._campaign.mutants["sources"]]
                if state is None or state.get("asked") != asked:
                    state = {**await self._begin(told), "asked": asked}
                    replace_text(self._work / "state.json", json.dumps(state))
            except OSError as e:
                raise SupervisorError(
                    f"{e.filename or self._work}: mutants cannot be made there: {e.strerror or e}"
                ) from None
            self._state = state

    async def build(self, mutant: SourceMutant, into: Path) -> Build:
        """See :class:`Ground`: ``into`` is what goes in front of the path then."""
        async with self._lock:
            began = time.monotonic()
            built: tuple[str, ...] = ()
            twin = error = ""
            try:
                twin = await self._build(mutant, into)
                if not twin:
                    built = (str(into),)
            except (BuildTreeError, SupervisorError) as e:
                error = str(e)
            finally:
                if not built:
                    await in_thread(functools.partial(shutil.rmtree, into, ignore_errors=True))
            return Build(built, error, time.monotonic() - began, twin)

    def outputs(self) -> PythonOutputs:
        """By what the target's function returns."""

        def batch(command: Sequence[str]) -> PythonBatch:
            target = self.target(command) if command else self._campaign.target
            return self._batch(target, "output")

        return PythonOutputs(batch)

    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """See :class:`Ground`: functions by the sources, lines by the interpreter."""
        reach = BuildReach()
        for file, _ in self.sources:
            try:
                text = read_regular(self.tree / file, MAX_SOURCE)
                reach.functions[file] = python_functions(text)
            except (SyntaxError, ValueError, OSError) as e:
                raise SupervisorError(f"mutants.functions: {visible(f'{file}: {e}')}") from None
        if self._campaign.mutants["covered"]:
            batch = self._batch(self.target([str(self.tree)]), "lines")
            reach.lines = await batch.lines(seeds, self.tree)
        return reach

    # ------------------------------------------------------------------------ the program

    async def _begin(self, told: Callable[[str], None]) -> dict[str, Any]:
        """Raises OSError, :class:`SupervisorError`."""
        await in_thread(functools.partial(shutil.rmtree, self._work, ignore_errors=True))
        self.tree.mkdir(mode=0o700, parents=True)
        found = await self._locate()
        for root, top in dict.fromkeys((row["root"], row["top"]) for row in found):
            told(f"copying {visible(top)}: mutants are made of the copy")
            place = Path(root, top)
            await in_thread(functools.partial(copy_package, place, self.tree / top))
        codes: dict[str, str] = {}
        self._state = {"sources": found, "codes": codes}
        told("importing the copy")
        began = time.monotonic()
        batch = self._batch(self.target([str(self.tree)]), _LABEL)
        files = await batch.load([row["module"] for row in found], LOAD_S)
        self._state["seconds"] = time.monotonic() - began
        for row in found:
            self._check(row, files.get(row["module"], ""))
            answer = await self._code(self.tree / row["name"])
            if "code" not in answer:
                words = visible(str(answer.get("error")))[:_SAID]
                raise SupervisorError(f"mutants.sources: {row['file']}: {words}")
            codes[row["name"]] = _digest(row["name"], answer["code"])
        return self._state

    async def _locate(self) -> list[dict[str, str]]:
        """Raises :class:`SupervisorError` for what is no module of the target's."""
        wanted: list[tuple[str, str]] = self._campaign.mutants["sources"]
        names = [self._path(name) for name, _ in wanted]
        asked = await ask(
            self._campaign, self._home, lambda _: ["--locate", *names], self._mark, limit=LOAD_S
        )
        rows = [row for row in asked.answers if "module" in row or "error" in row]
        if len(rows) != len(wanted):
            raise SupervisorError(f"mutants.sources: {asked.reason}")
        found = []
        for (_, lines), row in zip(wanted, rows, strict=True):
            if "error" in row:
                raise SupervisorError(f"mutants.sources: {visible(str(row['error']))}")
            name = os.path.relpath(row["file"], row["root"])
            top = name.partition(os.sep)[0]
            found.append({**row, "name": name, "top": top, "lines": lines})
        return found

    def _path(self, name: str) -> str:
        """A file's name made absolute; a module's as it is."""
        if not (name.endswith(".py") or "/" in name):
            return name
        bases = [self._campaign.file.parent, *map(Path, self._campaign.target["path"])]
        there = (base / name for base in bases if (base / name).is_file())
        return os.path.abspath(next(there, bases[0] / name))  # noqa: PTH100 - links stay

    def _check(self, row: Mapping[str, str], file: str) -> None:
        """Raise :class:`SupervisorError` where the target does not take the copy."""
        copy = self.tree / row["name"]
        if file and os.path.realpath(file) == os.path.realpath(copy):
            return
        module, top = visible(row["module"]), visible(row["top"].removesuffix(".py"))
        words = f"it takes {visible(file)}" if file else "it cannot import it"
        raise SupervisorError(
            f"mutants.sources: {module}: a copy of it does not take its place, so no mutant of it "
            f"would be run: the target, with the copy before all else on its path, {words}. If "
            f"fuzztui's own engine has imported {top} before, name it in target.include"
        )

    # ------------------------------------------------------------------------- one mutant

    async def _build(self, mutant: SourceMutant, into: Path) -> str:
        """Returns the twin. Raises OSError, TreeError, :class:`SupervisorError`."""
        row = next((row for row in self._state["sources"] if row["name"] == mutant.file), None)
        if row is None:
            raise BuildTreeError(f"{visible(mutant.file)} is none of mutants.sources")
        text = mutated(await in_thread(lambda: self._text(mutant.file)), mutant)
        await in_thread(lambda: self._lay_out(into, mutant.file, text))
        answer = await self._code(into / mutant.file)
        if "code" not in answer:
            raise BuildTreeError(visible(str(answer.get("error")))[:_SAID])
        digest = _digest(mutant.file, str(answer["code"]))
        if not (twin := self._twins.of(mutant.id, digest, self._state["codes"][mutant.file])):
            limit = max(MIN_LIMIT_S, TIMES_BASELINE * self._state["seconds"])
            await self._batch(self.target([str(into)]), _LABEL).load([row["module"]], limit)
        self._twins.add(mutant.id, digest)
        return twin

    def _text(self, name: str) -> bytes:
        return read_regular(self.tree / name, MAX_SOURCE)

    def _lay_out(self, into: Path, name: str, text: bytes) -> None:
        if into.exists():
            shutil.rmtree(into)
        shutil.copytree(self.tree, into)
        (into / name).write_bytes(text)

    # ----------------------------------------------------------------------- the interpreter

    def _batch(self, target: Mapping[str, Any], label: str) -> PythonBatch:
        return PythonBatch(replace(self._campaign, target=dict(target)), self._home, label)

    async def _code(self, file: Path) -> dict[str, Any]:
        """``{"code"}`` or ``{"error"}``. Raises :class:`SupervisorError`."""
        asked = await ask(
            self._campaign, self._home, lambda _: ["--code", str(file)], self._mark, limit=LOAD_S
        )
        if not asked.answers:
            raise SupervisorError(asked.reason)
        return asked.answers[-1]

    def _moved(self, reference: str, into: str) -> str:
        """``file.py:function`` with the copy's file, if it was copied."""
        file, colon, function = reference.rpartition(":")
        file, function = (file, function) if colon else (function, "")
        for row in self._state["sources"]:
            place = Path(row["root"], row["top"])
            if file and Path(file).is_relative_to(place):
                inside = Path(into) / Path(file).relative_to(row["root"])
                return f"{inside}{colon}{function}"
        return reference


def _digest(name: str, code: str) -> str:
    """Of one file's code: the same in another file is another program."""
    return hashlib.sha256(f"{name}\0{code}".encode(errors="surrogateescape")).hexdigest()[:32]
