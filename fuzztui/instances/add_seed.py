"""Adding seeds while the campaign runs: a sibling that never fuzzes and only has finds.

Instances look through their siblings' queues now and then and keep what covers something
new (AFL's convention, which our own engines keep too). ``OUT/added`` looks like one: a
``queue`` with contiguous ids. It has no ``fuzzer_stats``, so nobody takes it for an instance.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzztui.base.atomic import replace_bytes
from fuzztui.base.text import several
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.instances.launcher import Handler, Progress
from fuzztui.observe.afl_names import ADDED
from fuzztui.wire.commands import AddSeed

__all__ = ["MAX_SEED", "add_seed", "seeder"]

MAX_SEED = 1 << 20
"""Bytes; AFL reads no larger file."""

_WHEN = "instances take over what covers something new the next time that they sync"
_ID = re.compile(r"id:(\d+)")
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class _Unfit(Exception):
    """A file is no seed; says why."""


def seeder(run_dir: RunDir) -> Handler:
    """What carries an ``add-seed`` command out."""

    async def handler(command: AddSeed, progress: Progress) -> str:
        return await asyncio.to_thread(add_seed, run_dir.out, Path(command.file))

    return handler


def add_seed(out: Path, file: Path) -> str:
    """Add a file, or all files of a directory, to the sync directory ``out``.

    Returns words for the person who asked. Raises
    :class:`~fuzztui.campaign.rundir.SupervisorError` with the reason why not.
    """
    try:
        if file.is_dir():
            return _add_all(out, file)
        seed = _read(file)
        with _queue(out) as queue:
            number = _next_id(queue)
            _put(queue, number, file.name, seed)
    except _Unfit as e:
        raise SupervisorError(f"{file}: {e}") from None
    except OSError as e:
        raise SupervisorError(f"{e.filename or file}: {e.strerror or e}") from None
    return f"seed {number} added; {_WHEN}"


def _add_all(out: Path, directory: Path) -> str:
    """Each regular file that is fit, in order of name. Raises OSError, _Unfit."""
    unfit = 0
    with _queue(out) as queue:
        first = number = _next_id(queue)
        for file in sorted(p for p in directory.iterdir() if not p.is_dir()):
            try:
                seed = _read(file)
            except (_Unfit, OSError):
                unfit += 1
                continue
            _put(queue, number, file.name, seed)
            number += 1
    if number == first:
        raise _Unfit("has no file in it that can be a seed: not empty and at most 1 MiB")
    passed_over = f" ({several(unfit, 'file')} passed over: empty, larger than 1 MiB or unreadable)"
    which = f"seed {first}" if number == first + 1 else f"seeds {first} to {number - 1}"
    return f"{which} added{passed_over if unfit else ''}; {_WHEN}"


def _read(file: Path) -> bytes:
    """What is in a seed. Raises OSError, _Unfit."""
    # A symlink is the user's own and followed; opening a FIFO must not block.
    fd = os.open(file, _FLAGS)
    with os.fdopen(fd, "rb") as opened:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _Unfit("is not a regular file")
        seed = opened.read(MAX_SEED + 1)
    if not seed:
        raise _Unfit("is empty: a seed needs at least one byte")
    if len(seed) > MAX_SEED:
        raise _Unfit("is larger than 1 MiB, which AFL does not read: make it smaller")
    return seed


@contextmanager
def _queue(out: Path) -> Iterator[Path]:
    """The fake sibling's queue, held against others who add: ids must not be taken twice."""
    queue = out / ADDED / "queue"
    for directory in (queue.parent, queue):
        directory.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(queue, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield queue
    finally:
        os.close(fd)


def _next_id(queue: Path) -> int:
    """One more than the last: afl-fuzz looks for exactly the id after the last it has seen."""
    matches = (_ID.match(name) for name in os.listdir(queue))  # noqa: PTH208
    return 1 + max((int(match[1]) for match in matches if match), default=-1)


def _put(queue: Path, number: int, name: str, seed: bytes) -> None:
    """By rename from beside the queue: whoever reads it sees whole files only."""
    # A comma or colon would end the name for whoever takes AFL's names apart.
    plain = re.sub(r"[^A-Za-z0-9._+-]", "_", name)[-100:] or "_"
    file = queue / f"id:{number:06},time:0,execs:0,orig:{plain}"
    replace_bytes(file, seed, queue.parent)
