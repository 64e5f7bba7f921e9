"""Replace a file atomically: a reader sees the old content or the new, never a part of either.

For the supervisor, the commands and the engines: standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

PART = ".part-"
"""Prefix, before a number, of the names of files that are being written and not renamed yet."""

_MAX_PARTS = 100
_MAX_LINKS = 40
"""Symbolic links that are followed; the kernel has the same limit (ELOOP)."""
_UMASK = threading.Lock()
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def replace_text(path: Path, text: str) -> None:
    """:func:`replace_bytes` with text in UTF-8; bytes of names that are no UTF-8 are kept."""
    replace_bytes(path, text.encode("utf-8", "surrogateescape"))


def replace_bytes(
    path: Path, data: bytes, folder: Path | None = None, *, sync: bool = False
) -> None:
    """:func:`replacing` with the whole content."""
    with replacing(path, folder, sync=sync) as fd:
        write_all(fd, data)


def publish_text(path: Path, text: str) -> None:
    """:func:`publish_bytes` with text in UTF-8; bytes of names that are no UTF-8 are kept."""
    publish_bytes(path, text.encode("utf-8", "surrogateescape"))


def publish_bytes(path: Path, data: bytes) -> None:
    """Write a file for other programs and users: replaced as a whole, with the mode of a new file.

    A pipe or a device, such as /dev/stdout, is written to, whatever it leads to. Of another
    symbolic link the target is replaced. Raises OSError.
    """
    for _ in range(_MAX_LINKS):
        if not path.is_symlink() or path.is_relative_to("/proc"):
            break
        path = path.parent.resolve() / path.readlink()
    # /dev/stdout leads to /proc/self/fd/1, and that to whatever the shell has opened.
    if path.is_relative_to("/proc") or (path.exists() and not path.is_file()):
        with path.open("ab") as file:
            file.write(data)
        return
    with _UMASK:  # reading it changes it, for all threads
        mask = os.umask(0o077)
        os.umask(mask)
    with replacing(path) as fd:
        os.fchmod(fd, 0o666 & ~mask)
        write_all(fd, data)


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``. If OSError is raised, any prefix of it may have been written."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@contextlib.contextmanager
def replacing(path: Path, folder: Path | None = None, *, sync: bool = False) -> Iterator[int]:
    """Yield the descriptor of an empty file, which is renamed to ``path`` at the end; mode 0600.

    The file is open for reading and writing, and locked (flock) until it is closed at the end:
    a duplicate of the descriptor keeps it open and locked.
    ``folder``: where the content is written first, on the same file system; the folder of
    ``path`` if None. ``sync``: wait until the content, and then the name, are on the disk.
    Raises OSError; ``path`` is then unchanged, unless only the last wait failed.

    A kill in between leaves at most one :data:`PART` file, which the next call for the same
    folder overwrites and renames: such files do not accumulate.
    """
    fd, part = _open_part(path.parent if folder is None else folder)
    try:
        os.ftruncate(fd, 0)
        yield fd
        if sync:
            os.fsync(fd)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # a full disk: the bytes are needed elsewhere
            part.unlink()
        raise
    finally:
        os.close(fd)
    if sync:
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in a directory are on the disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _open_part(folder: Path) -> tuple[int, Path]:
    """Open and lock the first part file that no living writer and no other user has."""
    missing = 0
    for number in range(_MAX_PARTS):
        part = folder / f"{PART}{number}"
        try:
            fd, new = _open_new_or_left(part)
        except FileNotFoundError:  # no folder, or its writer renamed it just now
            if not folder.exists():
                raise
            missing += 1
            continue
        except OSError as e:
            # A symlink, FIFO or directory that someone else made, or another user's part.
            if _is_not_regular(part) or (isinstance(e, PermissionError) and os.path.lexists(part)):
                continue
            raise
        if _is_free(fd, part, new):
            return fd, part
        os.close(fd)
    if missing == _MAX_PARTS:  # /proc
        raise PermissionError(errno.EACCES, "no file can be created there", str(folder))
    raise FileExistsError(f"{folder}: {_MAX_PARTS} files {PART}N cannot be used; remove them")


def _open_new_or_left(part: Path) -> tuple[int, bool]:
    """The descriptor of the file, and whether the file is new."""
    try:
        return os.open(part, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600), True
    except FileExistsError:
        return os.open(part, _FLAGS), False


def _is_not_regular(part: Path) -> bool:
    try:
        return not stat.S_ISREG(part.lstat().st_mode)
    except OSError:
        return False


def _is_free(fd: int, part: Path, new: bool) -> bool:
    """Whether the open file is regular, still named ``part``, and locked for this writer.

    The kernel releases the lock of a writer that dies, so that its file is free again. A file
    of another user is never free: the replaced file would belong to that user.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: only one writer per folder is safe
        pass
    try:
        # The previous writer may have renamed the file between the open and the lock.
        found = os.fstat(fd)
        usable = stat.S_ISREG(found.st_mode) and (new or found.st_uid == os.geteuid())
        return usable and os.path.samestat(found, part.lstat())
    except OSError:
        return False
