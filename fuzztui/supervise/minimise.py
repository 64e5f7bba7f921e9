"""Minimising a finding, whoever makes it smaller: which file, whither, one at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

from fuzztui.atomic import replace_bytes
from fuzztui.supervise.afl.execute import Mark
from fuzztui.supervise.afl.subject import find_file
from fuzztui.supervise.afl.triage import MAX_INPUT
from fuzztui.supervise.files import read_regular
from fuzztui.supervise.launcher import Progress
from fuzztui.supervise.rundir import RunDir, SupervisorError
from fuzztui.wire.commands import Command, Minimise
from fuzztui.wire.text import several

__all__ = ["in_turn", "instance_of", "minimised_path", "rewrite"]

_numbers = itertools.count(1)


def in_turn(
    home: RunDir, minimise: Callable[[Path, Path, Progress, Mark], Awaitable[str]]
) -> Callable[[Command, Progress], Awaitable[str]]:
    """What the supervisor does when it is told to minimise a finding: one at a time.

    ``minimise(file, output, progress, mark)`` does it; by ``mark`` its processes are found.
    """
    turn = asyncio.Lock()

    async def deed(command: Command, progress: Progress) -> str:
        if not isinstance(command, Minimise):
            raise SupervisorError(f"{command.name} is no command to minimise")
        if turn.locked():
            progress("waits until another one is minimised", -1.0)
        async with turn:  # and only then looked for: a resumed afl-fuzz puts its findings away
            return await take(command, progress)

    async def take(command: Minimise, progress: Progress) -> str:
        named = [home.instance(command.instance)] if command.instance else home.out.iterdir()
        mark = Mark(home.path, f"minimise-{next(_numbers)}")
        for directory in sorted(named):
            if file := find_file(directory, command.file):
                return await minimise(file, minimised_path(home, file), progress, mark)
        raise SupervisorError(f"{command.file}: no such finding in {home.out}")

    return deed


def minimised_path(home: RunDir, file: Path) -> Path:
    """Where the smaller form of a file goes: ``minimised/INSTANCE/NAME`` of the run."""
    instance = instance_of(home, file)
    return home.path / "minimised" / (instance.name if instance else "") / file.name


def instance_of(home: RunDir, file: Path) -> Path | None:
    """The instance's directory that a file is in, if it is in one."""
    file, out = file.absolute(), home.out.absolute()
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
