"""Read files that a target or another program may have tampered with; make temporary ones.

A target runs as the same user and can change the instance's directory: a FIFO must not
block the reader, a symlink must not be followed, an endless file must not fill memory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import IO, Any

from fuzztui.kernel.base.bounds import load_object

PLACEHOLDER = ",gone"
"""End of the names of empty files that keep the ids of a queue without gaps, for afl-fuzz."""

_GONE = re.compile(rf"id:[0-9]+{PLACEHOLDER}")
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_MAX_JSON = 16 << 20


def real_path(path: Path | str) -> Path:
    """Return a path without links. Raises OSError for a text that is the name of no file."""
    try:
        return Path(os.path.realpath(path))  # Path.resolve() raises RuntimeError for a loop
    except ValueError:  # a NUL byte, or a lone surrogate
        raise OSError(errno.EINVAL, "not the name of a file", str(path)) from None


def inside(root: Path, name: PurePath | str) -> Path:
    """Return the path without links of a file that a log, a host or a report names.

    Raises OSError, also for a file outside ``root``: a target may have put a link there.
    """
    if (path := real_path(root / name)).is_relative_to(real_path(root)):
        return path
    raise OSError(errno.EXDEV, "the file is outside its directory")


def open_regular(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor. Raises OSError, also for any other file."""
    # O_CREAT with mode 0600: findings are private to the campaign's owner.
    fd = os.open(path, flags | _FLAGS, 0o600)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(f"{path} is not a regular file")


@contextlib.contextmanager
def closing_fd(fd: int) -> Iterator[int]:
    """Context manager: a descriptor, which is closed at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


def read_regular(path: Path | str, limit: int, offset: int = 0) -> bytes:
    """Return at most ``limit`` bytes from ``offset`` on. Raises OSError."""
    with closing_fd(open_regular(path)) as fd:
        return os.pread(fd, limit, offset)


def read_if_regular(path: Path | str, limit: int) -> bytes | None:
    """Return at most ``limit`` bytes; None if the file is not regular or cannot be read."""
    try:
        return read_regular(path, limit)
    except OSError:
        return None


def read_tail(path: Path, limit: int) -> str:
    """The last ``limit`` bytes as text; an empty string if the file cannot be read."""
    try:
        size = path.lstat().st_size
        return read_regular(path, limit, max(0, size - limit)).decode(errors="replace")
    except OSError:
        return ""


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a small file of fuzztui; None if the file has none or cannot be read."""
    try:
        return load_object(read_regular(path, _MAX_JSON))
    except OSError:
        return None


def keeps_an_id(name: str) -> bool:
    """Whether a file in a queue is no entry, but keeps an id in use (:data:`PLACEHOLDER`)."""
    return name.endswith(PLACEHOLDER) and _GONE.fullmatch(name) is not None


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the regular files in and below directories, by name, without hidden ones.

    A path of a regular file is yielded itself. AFL's queue has hidden directories with more files.
    Files that only keep an id in a queue are left out: they are no inputs.
    """
    for path in paths:
        if _is_regular(path):
            yield path
        for where, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if name.startswith(".") or keeps_an_id(name):
                    continue
                if _is_regular(file := Path(where, name)):
                    yield file


def _is_regular(path: Path) -> bool:
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def remove(path: Path) -> None:
    """Delete a file, a directory with its content, or a symlink itself. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def check_writable(directory: Path) -> None:
    """Raise OSError if no data can be written there: a full disk may still create empty files."""
    try:
        with tempfile.TemporaryFile(dir=directory) as probe:
            probe.write(b"?" * 4096)
    except FileNotFoundError:
        if not directory.exists():
            raise
        # /proc
        message = "no file can be created there"
        raise PermissionError(errno.EACCES, message, str(directory)) from None


def status(path: Path) -> os.stat_result | None:
    """The result of ``lstat``; None if that fails."""
    try:
        return path.lstat()
    except OSError:
        return None


def temporary_directory(
    prefix: str = "fuzztui-", place: Path | None = None
) -> tempfile.TemporaryDirectory[str]:
    """Make a directory that is removed at the end. Raises OSError.

    ``place``: the parent directory; None: the directory of temporary files.
    """
    came: list[int] = []
    made: tempfile.TemporaryDirectory[str] | None = None
    try:
        with _noting_signals(came), _explained() if place is None else contextlib.nullcontext():
            made = tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True)
    finally:
        if came and made is not None:
            made.cleanup()
        for number in came:
            signal.raise_signal(number)
    return made


@contextlib.contextmanager
def _noting_signals(came: list[int]) -> Iterator[None]:
    """Note SIGINT and SIGTERM in place of their handlers.

    A handler that raises after a directory is made, and before the object that removes it is, would
    leave the directory. Handlers run in the main thread only; asyncio's does nothing.
    """
    with contextlib.ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                module = getattr(handler, "__module__", None) or ""  # a C function has none
                if callable(handler) and not module.startswith("asyncio"):
                    stack.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, _frame: came.append(number))
        yield


def temporary_file() -> IO[bytes]:
    """Make a file without a name. Raises OSError."""
    with _explained():
        return tempfile.TemporaryFile(prefix="fuzztui-")


def temporary_place() -> Path:
    """The directory of temporary files. Raises OSError if none is writable."""
    with _explained():
        return Path(tempfile.gettempdir())


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as e:
        why = e.strerror or str(e)
        raise OSError(
            e.errno,
            f"cannot create temporary files: {why}; free space there, or set TMPDIR to a"
            " writable directory",
            os.environ.get("TMPDIR") or "/tmp",
        ) from None
