"""Where a run's control socket lives.

Not in the run directory: that may be on a network file system, and the address of a
Unix socket holds 107 bytes. So it is in a private directory of the user's, named by a
hash of the run's path, and ``RUN/supervisor/socket`` tells which. Beside the socket a symlink
leads to the run: so the runs that a user has going are found, wherever they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fuzztui.base.atomic import replace_text
from fuzztui.remote.lock import running

__all__ = [
    "MAX_ADDRESS",
    "announce",
    "announced",
    "publish",
    "published",
    "socket_path",
    "withdraw",
]

MAX_ADDRESS = 107
"""Bytes in a Unix socket's address on Linux (``sun_path`` less its final NUL)."""

_MAX_PUBLISHED = 4096
_LINK = ".run"


def socket_path(run: Path) -> Path:
    """A path for the run's socket, in a directory made for it if need be.

    The directory is ours alone (0700, our uid, no symlink). Raises OSError when no
    place will do.
    """
    name = hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:16] + ".sock"
    refused = []
    for directory in _places(run):
        path = directory / name
        if len(os.fsencode(path)) > MAX_ADDRESS:
            refused.append(f"{directory} (its name is too long)")
        elif not _private(directory):
            refused.append(f"{directory} (not a directory of ours alone)")
        else:
            return path
    raise OSError(
        f"no place for the control socket: {', '.join(refused)}; "
        "set XDG_RUNTIME_DIR to a short path of yours"
    )


def _places(run: Path) -> Iterator[Path]:
    yield from _shared()
    yield run.resolve() / "supervisor"


def _shared() -> Iterator[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and Path(runtime).is_absolute():
        yield Path(runtime) / "fuzztui"
    yield Path(f"/tmp/fuzztui-{os.getuid()}")


def _private(directory: Path) -> bool:
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return False
        if status.st_mode & 0o077:
            directory.chmod(0o700)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)


def publish(run: Path, path: Path) -> None:
    """Say in the run directory where the socket is. Raises OSError."""
    replace_text(run / "supervisor" / "socket", f"{path}\n")


def published(run: Path) -> Path | None:
    """Where the run's socket was said to be; None if nothing usable is said."""
    try:
        fd = os.open(
            run / "supervisor" / "socket",
            os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK,
        )
        try:
            raw = os.read(fd, _MAX_PUBLISHED)
        finally:
            os.close(fd)
    except OSError:
        return None
    text = os.fsdecode(raw).strip()
    path = Path(text)
    return path if path.is_absolute() and "\0" not in text else None


def announce(run: Path, path: Path) -> None:
    """Say beside the socket whose it is. Who cannot is found by less, and works."""
    if path.parent not in _shared():
        return  # it is in the run itself
    with contextlib.suppress(OSError):  # most often it is there: its name is of the run's path
        path.with_suffix(_LINK).symlink_to(run.resolve(), target_is_directory=True)


def withdraw(path: Path) -> None:
    """Remove the socket, and what leads from it to the run."""
    for one in (path, path.with_suffix(_LINK)):
        with contextlib.suppress(OSError):
            one.unlink()


def announced() -> list[Path]:
    """The runs of this user that have said so and are supervised, in every place that is shared.

    What a killed supervisor has left there is removed.
    """
    # They may have been started in a session of another kind: a login, cron, tmux.
    places = {*_shared(), Path(f"/run/user/{os.getuid()}/fuzztui")}
    found: dict[Path, None] = {}
    for place in sorted(places):
        try:
            status = place.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            links = list(place.glob(f"*{_LINK}"))
        except OSError:  # it is not there
            continue
        for link in links:
            with contextlib.suppress(OSError):  # it has just gone
                run = link.readlink()
                if running(run) is None:
                    link.unlink()  # who has only begun says so again, each second
                else:
                    found[run] = None
    return list(found)
