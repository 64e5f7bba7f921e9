"""Minimise findings: find the input, choose the output path, run one minimisation at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

from fuzztui.base.atomic import replace_bytes
from fuzztui.base.files import read_regular
from fuzztui.base.text import several
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.instances.launcher import Progress
from fuzztui.process.execute import ProcessMark
from fuzztui.triage.afl import MAX_INPUT
from fuzztui.triage.program import find_file
from fuzztui.wire.commands import CancelMinimise, Command, Minimise

__all__ = ["InTurn", "instance_of", "minimised_path", "rewrite"]

_numbers = itertools.count(1)


class InTurn:
    """Minimise findings for the supervisor, one at a time: called with :class:`Minimise`."""

    def __init__(
        self,
        run_dir: RunDir,
        minimise: Callable[[Path, Path, Progress, ProcessMark, Callable[[], bool]], Awaitable[str]],
    ) -> None:
        """``minimise(file, output, progress, mark, stop)`` does it.

        By ``mark`` its processes are found; once ``stop()`` is true, it writes the smallest input
        so far.
        """
        self._run_dir, self._minimise = run_dir, minimise
        self._turn = asyncio.Lock()
        self._open: dict[Minimise, bool] = {}
        """Commands that wait or are carried out, and whether they are cancelled."""

    async def __call__(self, command: Command, progress: Progress) -> str:
        """Minimise a finding."""
        if not isinstance(command, Minimise):
            raise SupervisorError(f"{command.name} is no command to minimise")
        if command in self._open:
            raise SupervisorError(f"{command.file}: is being minimised already")
        self._open[command] = False
        try:
            if self._turn.locked():
                progress("waits until another one is minimised", -1.0)
            # Looked for only then: a resumed afl-fuzz puts its findings away.
            async with self._turn:
                return await self._take(command, progress)
        finally:
            del self._open[command]

    async def cancel(self, command: Command, _progress: Progress) -> str:
        """End the minimising of a finding."""
        if not isinstance(command, CancelMinimise):
            raise SupervisorError(f"{command.name} is no command to cancel minimising")
        meant = Minimise(command.file, command.instance)
        if meant not in self._open:
            raise SupervisorError(f"{command.file}: is not being minimised")
        self._open[meant] = True
        return "the smallest input so far is kept"

    async def _take(self, command: Minimise, progress: Progress) -> str:
        if self._open[command]:
            raise SupervisorError("cancelled before it began")
        run_dir = self._run_dir
        named = [run_dir.instance(command.instance)] if command.instance else run_dir.out.iterdir()
        mark = ProcessMark(run_dir.path, f"minimise-{next(_numbers)}")
        for directory in sorted(named):
            if file := find_file(directory, command.file):
                output = minimised_path(run_dir, file)
                return await self._minimise(
                    file, output, progress, mark, lambda: self._open[command]
                )
        raise SupervisorError(f"{command.file}: no such finding in {run_dir.out}")


def minimised_path(run_dir: RunDir, file: Path) -> Path:
    """Where the smaller form of a file goes: ``minimised/INSTANCE/NAME`` of the run."""
    instance = instance_of(run_dir, file)
    return run_dir.path / "minimised" / (instance.name if instance else "") / file.name


def instance_of(run_dir: RunDir, file: Path) -> Path | None:
    """The instance's directory that a file is in, if it is in one."""
    file, out = file.absolute(), run_dir.out.absolute()
    return out / file.relative_to(out).parts[0] if file.is_relative_to(out) else None


async def rewrite(
    file: Path, output: Path, shorten: Callable[[bytes], Awaitable[tuple[bytes, str]]]
) -> str:
    """Write what ``shorten`` makes of the input in ``file`` to ``output``; says how it went.

    ``shorten`` gives what is to be said about it, too. Raises :class:`SupervisorError`.
    """
    try:
        data = read_regular(file, MAX_INPUT)
        shorter, note = await shorten(data)
        _write(output, shorter)
    except OSError as e:
        raise SupervisorError(f"{e.filename or file}: {e.strerror or e}") from None
    return f"{len(data)} -> {several(len(shorter), 'byte')}: {output}{note}"


def _write(output: Path, data: bytes) -> None:
    """The result, whole or not at all, for its owner's eyes."""
    output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_bytes(output, data)
