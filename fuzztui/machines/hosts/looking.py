"""Requests of a user at another machine about this host's run: files that are not in its log."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any, Final

from fuzztui.kernel.base.files import inside, read_regular
from fuzztui.kernel.log.files import CHECKPOINTS, SEALED
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.access import account
from fuzztui.kernel.remote.client import ControlClient, RemoteError
from fuzztui.kernel.remote.mirrored import GONE, fetch, fetched_into
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.protocol import MAX_BATCH, MAX_FILE, to_text
from fuzztui.run.campaign.rundir import is_inside
from fuzztui.run.triage.program import find_file

_FOLDERS: Final = (("out",), ("minimised",), ("mutants",))
_FILES: Final = ("campaign.toml", "targets.json")


def read_file(run: Path, relative: Any) -> bytes:
    """Return an input of a run, or one of the files that screens read. Blocking.

    Raises ProtocolError for any other file, and for one that is too large; OSError.
    """
    name = PurePosixPath(relative if isinstance(relative, str) and is_inside(relative) else "")
    if str(name) not in _FILES and name.parts[:1] not in _FOLDERS:
        raise ProtocolError(f"{str(relative)[:100]!r} is no file of a run that others read")
    try:
        data = _read(run, name)
    except FileNotFoundError:
        moved = None
        if len(name.parts) > 2:  # a resumed afl-fuzz moves its findings
            moved = find_file(run / name.parent.parent, f"{name.parent.name}/{name.name}")
        at = PurePosixPath(moved.relative_to(run)) if moved else name
        data = _read(run, at) if moved else _read_fetched(run, name)
    if len(data) > MAX_FILE:
        raise ProtocolError(f"the file is larger than {MAX_FILE >> 20} MiB")
    return data


def _read(root: Path, name: PurePosixPath) -> bytes:
    return read_regular(inside(root, name), MAX_FILE + 1)


def _read_fetched(run: Path, name: PurePosixPath) -> bytes:
    """Read a file that a hub has on one of its hosts. Raises ProtocolError, OSError."""
    place = fetched_into(run)
    if place is None:
        raise ProtocolError(GONE)
    if problem := fetch(run, str(name)):
        raise ProtocolError(problem)
    return _read(place, name)


def read_log(run: Path, name: Any, offset: int) -> dict[str, Any]:
    """Return a piece of a file of the log. Blocking.

    Without a name: the number of the last sealed record, and the size of the file up to it.
    Raises ProtocolError for another file, LogError, OSError.
    """
    if name is None:
        last, size = LogReader(run).sealed()
        return {"last": last, "size": size}
    if name not in (SEALED, CHECKPOINTS):
        raise ProtocolError(f"{str(name)[:40]!r} is no file of a log that is copied")
    return {"data": to_text(read_regular(run / "log" / name, MAX_BATCH, offset))}


def who_may(run: Path) -> dict[str, str]:
    """Return the account that this process runs under, and why it may not steer. Blocking."""
    found = {"account": account(os.getuid()), "why_not_steer": ""}
    try:
        client = ControlClient(run, "link")
    except RemoteError:
        return found  # nothing to steer now
    client.close()
    return {**found, "why_not_steer": client.why_not_steer}
