"""The backend for Python targets: a mutant is a copy of their packages, first on the path.

The target is never imported in this process. The target's own interpreter locates modules, and
compiles and imports mutants. The digest of a mutant's code without line numbers shows whether the
mutant is equivalent or a duplicate. With the stricter kill criterion, a different return value
kills, too.
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

from fuzztui.features.fuzzfirst.batch import BatchRunner
from fuzztui.features.fuzzfirst.build import MutantBackend, duplicate_of
from fuzztui.features.fuzzfirst.build_tree import MAX_SOURCE, BuildTreeError, mutated
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.features.fuzzfirst.python_batch import LOAD_S, PythonBatch, ask
from fuzztui.features.fuzzfirst.reach import BuildReach, python_functions, python_lines
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json, read_regular
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark


class PythonOutputs:
    """Compares what mutants and target return, for Python functions.

    The counterpart of :class:`~fuzztui.features.fuzzfirst.program_output.Outputs`. Compares the
    ``repr`` of the return value, without addresses, or the class of an expected exception.
    ``batch`` returns a runner for a mutant's command, or for the target if called with ().
    """

    def __init__(self, batch: Callable[[Sequence[str]], PythonBatch]) -> None:
        self._batch = batch
        self._known: dict[str, str] = {}
        """The target's results by digest; "": it failed, or two runs differed."""

    async def differing(self, command: Sequence[str], inputs: Sequence[Input]) -> dict[str, str]:
        """Return digests of inputs on which ``command``, a mutant, differs, each with "output".

        Inputs on which mutant or target fail are not compared. Raises
        :class:`~fuzztui.run.campaign.rundir.SupervisorError` if one of them cannot be run at all.
        """
        await self._learn([one for one in inputs if one.digest not in self._known])
        suspects = [one for one in inputs if self._known.get(one.digest)]
        mutant = self._batch(command)
        for _ in range(2):  # in two orders: effects of an earlier input must not kill
            answers = await mutant.answers(_paths(suspects))
            suspects = [
                one
                for at, one in enumerate(suspects)
                if at in answers and answers[at] != self._known[one.digest]
            ]
            suspects.reverse()
        telling = {one.digest for one in suspects}
        return {one.digest: "output" for one in inputs if one.digest in telling}

    async def _learn(self, inputs: Sequence[Input]) -> None:
        """Record the target's result on each input; "" if a second run, in reverse, differs."""
        if not inputs:
            return
        target = self._batch(())
        first = await target.answers(_paths(inputs))
        second = await target.answers(_paths(inputs[::-1]))
        for at, one in enumerate(inputs):
            answer = first.get(at, "")
            same = answer == second.get(len(inputs) - 1 - at, "")
            self._known[one.digest] = answer if same else ""


def _paths(inputs: Sequence[Input]) -> list[Path]:
    return [one.path for one in inputs]


MAX_BYTES = 64 << 20
MAX_FILES = 10_000
"""Limits of a package, because each mutant is a copy."""

_LEFT_OUT = ("__pycache__", ".git", ".hg", ".svn")


def copy_package(place: Path, copy: Path) -> None:
    """Copy a file, or a directory without bytecode; symbolic links are followed.

    Raises OSError, and :class:`SupervisorError` if the package exceeds the limits.
    """
    if place.is_file():
        shutil.copyfile(place, copy)
        return
    size = number = 0
    above: dict[str, frozenset[str]] = {str(place): frozenset()}
    for where, directories, names in os.walk(place, followlinks=True):
        real = os.path.realpath(where)
        if real in above[where]:  # a link to a directory above
            directories.clear()
            continue
        directories[:] = sorted(set(directories) - set(_LEFT_OUT))
        for name in directories:
            above[os.path.join(where, name)] = above[where] | {real}  # noqa: PTH118 - as os.walk
        into = copy / os.path.relpath(where, place)
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in sorted(names):
            file = Path(where, name)
            if not file.is_file():
                continue
            size += file.stat().st_size
            number += 1
            if size > MAX_BYTES or number > MAX_FILES:
                raise SupervisorError(
                    f"mutants.sources: {place} has more than {MAX_BYTES >> 20} MiB or "
                    f"{MAX_FILES:,} files, too much for a copy for each mutant"
                )
            shutil.copyfile(file, into / name)


MIN_LIMIT_S = 10.0
TIMES_BASELINE = 20
"""Time limit of a mutant's import, as a multiple of the original's import."""

_LABEL = "mutant-builder"
_SAID = 500


class PythonBackend(MutantBackend):
    """Python targets. A mutant's command is the directory of its copy."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        super().__init__(campaign, run_dir)
        self._work = run_dir.path.absolute() / "mutants" / "work" / "python"
        self._mark = ProcessMark(run_dir.path, _LABEL)
        self._state: dict[str, Any] = {}

    @property
    def tree(self) -> Path:
        """A copy of the packages that are mutated, which is put first on the path."""
        return self._work / "tree"

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The mutated files of the tree, each with its lines ("": all); after :meth:`prepare`."""
        return [(row["name"], row["lines"]) for row in self._state["sources"]]

    def target(self, command: Sequence[str]) -> dict[str, Any]:
        """Put the copy first on the path; a harness file that was copied is the copy's."""
        target = self._campaign.target
        into = command[0]
        moved = {
            key: self._moved(target[key], into)
            for key in ("function", "generator", "compare")
            if target.get(key)
        }
        return {**target, **moved, "path": [into, *target["path"]]}

    def batch(self, command: Sequence[str], label: str) -> BatchRunner:
        """As :class:`MutantBackend`: run inputs in a process of the campaign's engine."""
        if not command:
            # The same numbers of cells in all batches, because their coverage is compared.
            edges = self._work.parent / "edges.json"
            return PythonBatch(self._campaign, self._run_dir, label, edges)
        return self._batch(self.target(command), label)

    async def prepare(self, progress: Callable[[str], None]) -> None:
        """Find the modules, copy their packages, and check that the target imports the copy.

        Results of an earlier start of the run are used again. Raises :class:`SupervisorError` for
        sources that cannot be mutated.
        """
        async with self._lock:
            try:
                await asyncio.to_thread(self._mark.kill_leftovers)
                state = read_json(self._work / "state.json")
                asked = [list(source) for source in self._campaign.table("mutants")["sources"]]
                if state is None or state.get("asked") != asked:
                    state = {**await self._begin(progress), "asked": asked}
                    replace_text(self._work / "state.json", json.dumps(state))
            except OSError as e:
                raise SupervisorError(
                    f"{e.filename or self._work}: cannot make mutants here: {e.strerror or e}"
                ) from None
            self._state = state

    def outputs(self) -> PythonOutputs:
        """As :class:`MutantBackend`: compares what the target's function returns."""

        def batch(command: Sequence[str]) -> PythonBatch:
            target = self.target(command) if command else self._campaign.target
            return self._batch(target, "output")

        return PythonOutputs(batch)

    async def reach(self, seeds: Sequence[Path]) -> BuildReach:
        """As :class:`MutantBackend`: functions from the sources, lines from the interpreter."""
        reach = BuildReach()
        for file, _ in self.sources:
            try:
                text = read_regular(self.tree / file, MAX_SOURCE)
                reach.functions[file] = python_functions(text)
                reach.statements[file], reach.decisions[file] = python_lines(text)
            except (SyntaxError, ValueError, OSError) as e:
                raise SupervisorError(f"mutants.functions: {visible(f'{file}: {e}')}") from None
        mutants = self._campaign.table("mutants")
        if mutants["covered"] or mutants["order"] == "roadblocks":
            batch = self._batch(self.target([str(self.tree)]), "lines")
            reach.lines = await batch.lines(seeds, self.tree)
        return reach

    # ------------------------------------------------------------------------ the program

    async def _begin(self, progress: Callable[[str], None]) -> dict[str, Any]:
        """Raises OSError, :class:`SupervisorError`."""
        await in_thread(functools.partial(shutil.rmtree, self._work, ignore_errors=True))
        self.tree.mkdir(mode=0o700, parents=True)
        found = await self._locate()
        for root, top in dict.fromkeys((row["root"], row["top"]) for row in found):
            progress(f"copying {visible(top)}, to mutate the copy")
            place = Path(root, top)
            await in_thread(functools.partial(copy_package, place, self.tree / top))
        codes: dict[str, str] = {}
        self._state = {"sources": found, "codes": codes}
        progress("importing the copy")
        began = time.monotonic()
        batch = self._batch(self.target([str(self.tree)]), _LABEL)
        files = await batch.load([row["module"] for row in found], LOAD_S)
        self._state["seconds"] = time.monotonic() - began
        for row in found:
            self._check(row, files.get(row["module"], ""))
            answer = await self._code(self.tree / row["name"])
            if "code" not in answer:
                message = visible(str(answer.get("error")))[:_SAID]
                raise SupervisorError(f"mutants.sources: {row['file']}: {message}")
            codes[row["name"]] = _digest(row["name"], answer["code"])
        return self._state

    async def _locate(self) -> list[dict[str, str]]:
        """Return the location of each source. Raises :class:`SupervisorError` for unknown ones."""
        wanted: list[tuple[str, str]] = self._campaign.table("mutants")["sources"]
        names = [self._path(name) for name, _ in wanted]
        asked = await ask(
            self._campaign, self._run_dir, lambda _: ["--locate", *names], self._mark, limit=LOAD_S
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
        """Return a file's absolute path; a module's name unchanged."""
        if not (name.endswith(".py") or "/" in name):
            return name
        bases = [self._campaign.file.parent, *map(Path, self._campaign.target["path"])]
        there = (base / name for base in bases if (base / name).is_file())
        return os.path.abspath(next(there, bases[0] / name))  # noqa: PTH100 - links stay

    def _check(self, row: Mapping[str, str], file: str) -> None:
        """Raise :class:`SupervisorError` if the target does not import the copy."""
        copy = self.tree / row["name"]
        if file and os.path.realpath(file) == os.path.realpath(copy):
            return
        module, top = visible(row["module"]), visible(row["top"].removesuffix(".py"))
        message = f"imports {visible(file)}" if file else "cannot import the module"
        raise SupervisorError(
            f"mutants.sources: {module}: no mutant would be run, because the target {message} "
            f"although a copy is first on its path. If fuzztui's engine has imported {top} before, "
            "name it in target.include"
        )

    # ------------------------------------------------------------------------- one mutant

    def _command(self, into: Path) -> tuple[str, ...]:
        return (str(into),)

    async def _build(self, mutant: SourceMutant, into: Path) -> str:
        row = next((row for row in self._state["sources"] if row["name"] == mutant.file), None)
        if row is None:
            raise BuildTreeError(f"{visible(mutant.file)} is not in mutants.sources")
        text = mutated(await in_thread(lambda: self._text(mutant.file)), mutant)
        await in_thread(lambda: self._lay_out(into, mutant.file, text))
        answer = await self._code(into / mutant.file)
        if "code" not in answer:
            raise BuildTreeError(visible(str(answer.get("error")))[:_SAID])
        digest = _digest(mutant.file, str(answer["code"]))
        original = self._state["codes"][mutant.file]
        if not (duplicate := duplicate_of(mutant.id, digest, self.digests, original)):
            limit = max(MIN_LIMIT_S, TIMES_BASELINE * self._state["seconds"])
            await self._batch(self.target([str(into)]), _LABEL).load([row["module"]], limit)
        self.digests[mutant.id] = digest
        return duplicate

    def _text(self, name: str) -> bytes:
        return read_regular(self.tree / name, MAX_SOURCE)

    def _lay_out(self, into: Path, name: str, text: bytes) -> None:
        if into.exists():
            shutil.rmtree(into)
        shutil.copytree(self.tree, into)
        (into / name).write_bytes(text)

    # ----------------------------------------------------------------------- the interpreter

    def _batch(self, target: Mapping[str, Any], label: str) -> PythonBatch:
        return PythonBatch(replace(self._campaign, target=dict(target)), self._run_dir, label)

    async def _code(self, file: Path) -> dict[str, Any]:
        """Compile a file; return ``{"code"}`` or ``{"error"}``. Raises :class:`SupervisorError`."""
        asked = await ask(
            self._campaign, self._run_dir, lambda _: ["--code", str(file)], self._mark, limit=LOAD_S
        )
        if not asked.answers:
            raise SupervisorError(asked.reason)
        return asked.answers[-1]

    def _moved(self, reference: str, into: str) -> str:
        """Return ``file.py:function`` with the copy's file, if the file was copied."""
        file, colon, function = reference.rpartition(":")
        file, function = (file, function) if colon else (function, "")
        for row in self._state["sources"]:
            place = Path(row["root"], row["top"])
            if file and Path(file).is_relative_to(place):
                inside = Path(into) / Path(file).relative_to(row["root"])
                return f"{inside}{colon}{function}"
        return reference


def _digest(name: str, code: str) -> str:
    """Return the digest of one file's code; equal code in another file has another digest."""
    return hashlib.sha256(f"{name}\0{code}".encode(errors="surrogateescape")).hexdigest()[:32]
