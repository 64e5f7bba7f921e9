"""The path of a run's control socket.

The socket is not in the run directory, which may be on a network file system or have too
long a name: the address of a Unix socket has at most 107 bytes. It is in a private directory
of the user, under a hash of the run's path, and ``RUN/supervisor/socket`` contains its path.
A symlink next to the socket points to the run, so that a user's running campaigns are found.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.remote.lock import running

MAX_ADDRESS = 107
"""Bytes in a Unix socket's address on Linux (``sun_path`` less its final NUL)."""

_MAX_SOCKET_FILE = 4096
_LINK = ".run"


def socket_path(run: Path, group: int = -1) -> Path:
    """Return a path for the run's socket, in a directory that is created if it is missing.

    The directory is private: mode 0700, owned by this user, not a symlink. Members of ``group``
    (a gid; -1: none) may enter it. Raises OSError if no directory is suitable.
    """
    name = _name(run)
    rejected = []
    for directory in _places(run, group):
        path = directory / name
        if len(os.fsencode(path)) > MAX_ADDRESS:
            rejected.append(f"{directory} (its path is too long)")
        elif not _private(directory, group):
            rejected.append(f"{directory} (not a private directory of this user)")
        else:
            return path
    raise OSError(
        f"no directory for the control socket: {', '.join(rejected)}; "
        "set XDG_RUNTIME_DIR to a private directory with a short path"
    )


def _name(run: Path) -> str:
    return hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:16] + ".sock"


def _places(run: Path, group: int) -> Iterator[Path]:
    if group < 0:
        yield from _shared()
    else:
        yield Path(f"/tmp/fuzztui-{os.getuid()}-{group}")
    yield run.resolve() / "supervisor"


def _shared() -> Iterator[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and Path(runtime).is_absolute():
        yield Path(runtime) / "fuzztui"
    yield Path(f"/tmp/fuzztui-{os.getuid()}")


def _private(directory: Path, group: int = -1) -> bool:
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return False
        if group < 0 and status.st_mode & 0o077:
            directory.chmod(0o700)
        elif group >= 0 and (status.st_gid != group or status.st_mode & 0o037 != 0o010):
            os.chown(directory, -1, group, follow_symlinks=False)
            directory.chmod(0o710)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)


def write_socket_path(run: Path, path: Path) -> None:
    """Write the socket's path into the run directory. Raises OSError."""
    replace_text(run / "supervisor" / "socket", f"{path}\n")


def read_socket_path(run: Path) -> Path | None:
    """The path of the socket that the run directory contains; None if it has no usable one."""
    raw = read_if_regular(run / "supervisor" / "socket", _MAX_SOCKET_FILE)
    if raw is None:
        return None
    text = os.fsdecode(raw).strip()
    path = Path(text)
    return path if path.is_absolute() and "\0" not in text else None


def link_to_run(run: Path, path: Path) -> None:
    """Create the symlink to the run where its user's commands look for it.

    That is next to its socket ``path``, unless others may enter there. Failing to do so is
    harmless.
    """
    places = [path.parent] if path.parent in _shared() else _shared()
    link = next((p / path.with_suffix(_LINK).name for p in places if _private(p)), None)
    with contextlib.suppress(OSError):  # usually it exists already
        if link is not None:
            link.symlink_to(run.resolve(), target_is_directory=True)


def withdraw(path: Path) -> None:
    """Remove the socket and the symlink to the run."""
    for file in (path, *((place / path.name).with_suffix(_LINK) for place in _shared())):
        with contextlib.suppress(OSError):
            file.unlink()


def supervised_runs() -> list[Path]:
    """This user's supervised runs, found by the symlinks next to their sockets.

    Symlinks that a killed supervisor has left are removed.
    """
    # A run may have been started in a session of another kind: a login, cron, tmux.
    places = {*_shared(), Path(f"/run/user/{os.getuid()}/fuzztui")}
    found: dict[Path, None] = {}
    for place in sorted(places):
        try:
            status = place.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            links = list(place.glob(f"*{_LINK}"))
        except OSError:  # no such directory
            continue
        for link in links:
            with contextlib.suppress(OSError):  # the link was removed just now
                run = link.readlink()
                if running(run) is None:
                    link.unlink()  # a starting supervisor makes its link again, each second
                else:
                    found[run] = None
    return list(found)
