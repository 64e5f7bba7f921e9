"""Minimise findings: find the input, choose the output path, run one minimisation at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import check_writable, read_regular
from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.commands import CancelMinimise, Command, Minimise
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.process.service import Progress
from fuzztui.run.triage.afl import MAX_INPUT
from fuzztui.run.triage.program import find_file

_numbers = itertools.count(1)


class MinimiseFile(Protocol):
    """Minimises one file, and returns a summary."""

    def __call__(
        self,
        file: Path,
        output: Path,
        progress: Progress,
        *,
        mark: ProcessMark,
        stop: Callable[[], bool],
    ) -> Awaitable[str]:
        """``mark``: marks the processes. ``stop()``: once true, the smallest input is written."""


class InTurn:
    """The handler that minimises findings, one at a time; called with :class:`Minimise`."""

    def __init__(self, run_dir: RunDir, minimise: MinimiseFile) -> None:
        self._run_dir, self._minimise = run_dir, minimise
        self._turn = asyncio.Lock()
        self._open: dict[Minimise, bool] = {}
        """Commands that wait or are running, and whether they were cancelled."""

    async def __call__(self, command: Command, progress: Progress) -> str:
        """Minimise a finding."""
        if not isinstance(command, Minimise):
            raise SupervisorError(f"{command.name} is not the command minimise")
        if command in self._open:
            raise SupervisorError(f"{command.file}: already being minimised")
        self._open[command] = False
        try:
            if self._turn.locked():
                progress("waiting for another finding to be minimised", -1.0)
            # The file is searched after the wait: a resumed afl-fuzz moves its findings.
            async with self._turn:
                return await self._take(command, progress)
        finally:
            del self._open[command]

    async def cancel(self, command: Command, _progress: Progress) -> str:
        """Stop minimising a finding."""
        if not isinstance(command, CancelMinimise):
            raise SupervisorError(f"{command.name} is not the command cancel-minimise")
        meant = Minimise(command.file, command.instance)
        if meant not in self._open:
            raise SupervisorError(f"{command.file}: not being minimised")
        self._open[meant] = True
        return "the smallest input found is kept"

    async def _take(self, command: Minimise, progress: Progress) -> str:
        if self._open[command]:
            raise SupervisorError("cancelled before minimising started")
        run_dir = self._run_dir
        named = [run_dir.instance(command.instance)] if command.instance else run_dir.out.iterdir()
        mark = ProcessMark(run_dir.path, f"minimise-{next(_numbers)}")
        for directory in sorted(named):
            if file := find_file(directory, command.file):
                output = minimised_path(run_dir, file)
                return await self._minimise(
                    file, output, progress, mark=mark, stop=lambda: self._open[command]
                )
        raise SupervisorError(f"{command.file}: no such finding in {run_dir.out}")


def minimised_path(run_dir: RunDir, file: Path) -> Path:
    """Return the output path for a file: ``minimised/INSTANCE/NAME`` in the run directory."""
    instance = instance_of(run_dir, file)
    return run_dir.path / "minimised" / (instance.name if instance else "") / file.name


def instance_of(run_dir: RunDir, file: Path) -> Path | None:
    """Return the instance directory that contains a file; None if none does."""
    file, out = file.absolute(), run_dir.out.absolute()
    return out / file.relative_to(out).parts[0] if file.is_relative_to(out) else None


async def rewrite(
    file: Path, output: Path, shorten: Callable[[bytes], Awaitable[tuple[bytes, str]]]
) -> str:
    """Write the input that ``shorten`` makes of ``file`` to ``output``. Returns a summary.

    ``shorten`` returns the smaller input and a note for the summary. Raises
    :class:`SupervisorError`.
    """
    try:
        data = read_regular(file, MAX_INPUT)
        _check(output)  # the search may take minutes
        shorter, note = await shorten(data)
        _write(output, shorter)
    except OSError as e:
        raise SupervisorError(f"{e.filename or file}: {e.strerror or e}") from None
    return f"{len(data)} -> {several(len(shorter), 'byte')}: {output}{note}"


def _check(output: Path) -> None:
    """Raise OSError if the folder of ``output``, or its first existing parent, is not writable."""
    folder = next(parent for parent in output.absolute().parents if parent.exists())
    try:
        check_writable(folder)
    except OSError as e:
        raise OSError(e.errno, e.strerror or str(e), str(folder)) from None


def _write(output: Path, data: bytes) -> None:
    """Write the result, completely or not at all, readable for the user only."""
    output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_bytes(output, data)
