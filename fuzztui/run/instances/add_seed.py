"""Add seeds to a running campaign, through the passive instance ``added``.

Instances regularly read their peers' queues and keep entries with new coverage (AFL's convention,
which in-process engines follow, too). ``OUT/added`` has a ``queue`` with contiguous ids, and no
``fuzzer_stats``, so that no tool takes it for a fuzzer.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import closing_fd
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.passive import ADDED
from fuzztui.kernel.wire.afl import id_of, seed_name
from fuzztui.kernel.wire.commands import AddSeed
from fuzztui.kernel.wire.events import CommandApplied
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.service import Handler, Progress

MAX_SEED = 1 << 20
"""Bytes; AFL reads no larger file."""

_WHEN = "instances import it at their next sync if it covers something new"
_WHEN_ALL = "instances import those with new coverage at their next sync"
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class _Unfit(Exception):
    """A file that cannot be a seed; the text is the reason."""


def seeder(run_dir: RunDir) -> Handler:
    """Return the handler of the command ``add-seed``."""

    async def handler(command: AddSeed, progress: Progress) -> CommandApplied:
        return await asyncio.to_thread(add_seed, run_dir.out, Path(command.file))

    return handler


def add_seed(out: Path, file: Path) -> CommandApplied:
    """Add a file, or all files of a directory, to the sync directory ``out``.

    Returns the answer without the command's id. Raises
    :class:`~fuzztui.run.campaign.rundir.SupervisorError` with the reason if no seed was added.
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
    return _added(number, number, f"seed {number} added; {_WHEN}")


def _added(first: int, last: int, detail: str) -> CommandApplied:
    made = [f"{ADDED}/{number}" for number in (first, last)]
    return CommandApplied("", detail=detail, made=made)


def _add_all(out: Path, directory: Path) -> CommandApplied:
    """Add each file that can be a seed, in order of name. Raises OSError, _Unfit."""
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
        raise _Unfit("contains no file that can be a seed: not empty and at most 1 MiB")
    skipped = f" ({several(unfit, 'file')} skipped: empty, larger than 1 MiB or unreadable)"
    one = number == first + 1
    which = f"seed {first}" if one else f"seeds {first} to {number - 1}"
    detail = f"{which} added{skipped if unfit else ''}; {_WHEN if one else _WHEN_ALL}"
    return _added(first, number - 1, detail)


def _read(file: Path) -> bytes:
    """Return the content of a seed. Raises OSError, _Unfit."""
    # Symlinks are followed, because they are the user's own; opening a FIFO must not block.
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
    """The queue of ``added``, locked, so that no other process uses the same id."""
    queue = out / ADDED / "queue"
    for directory in (queue.parent, queue):
        directory.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    with closing_fd(os.open(queue, flags)) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield queue


def _next_id(queue: Path) -> int:
    """One more than the last id: afl-fuzz looks for exactly the id after the last imported one."""
    return 1 + max((id_of(name) for name in os.listdir(queue)), default=-1)  # noqa: PTH208


def _put(queue: Path, number: int, name: str, seed: bytes) -> None:
    """Written next to the queue and renamed into it: readers see complete files only."""
    replace_bytes(queue / seed_name(number, name), seed, queue.parent)
