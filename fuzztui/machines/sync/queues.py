"""Writing a queue that AFL++ and our engines read: ids from 0 without gaps, each file as a whole.

afl-fuzz keeps one number for each peer: the id that it imports next. It looks for a file with
exactly that id, and counts on from it by position. A gap would end its imports for ever, and an id
that is used again would hide a file. So ids that were given away and have no file are filled with
empty files, which afl-fuzz passes over.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fuzztui.engines.directory.rescue import UNSAFE, Unsafe
from fuzztui.kernel.base.atomic import replacing, sync_folder, write_all
from fuzztui.kernel.base.files import PLACEHOLDER, read_if_regular
from fuzztui.kernel.wire.afl import entry_name
from fuzztui.machines.sync.names import SharedName, parse_shared, shared_name

SYNCED: Final = ".synced"
_MAX_FILL: Final = 200_000
_MAX_ID: Final = 100_000_000
_BATCH: Final = 200
_BATCH_BYTES: Final = 16 << 20
_NEW: Final = ".new-"
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
_U32: Final = struct.Struct("<I")


class QueueWriter:
    """The only writer of ``directory/FOLDER`` in this process; the caller holds a lock.

    Raises OSError if the directory cannot be read or made.
    """

    def __init__(self, directory: Path, folder: str = "queue") -> None:
        self.directory, self._folder = directory, directory / folder
        mode = directory.parent.stat().st_mode & 0o777
        for part in (directory, self._folder):
            if not part.is_dir():
                part.mkdir(exist_ok=True)
                part.chmod(mode | 0o700)
        self._mode = mode & 0o666 | 0o600
        self.files: dict[int, SharedName] = {}
        self.sums: dict[str, int] = {}
        self.origins: dict[str, int] = {}
        self._waiting: list[tuple[SharedName, bytes]] = []
        for name in os.listdir(self._folder):  # noqa: PTH208 - names only
            if (found := parse_shared(name)) is not None and found.id <= _MAX_ID:
                self._note(found)
        self._next = 1 + max(self.files, default=-1)

    @property
    def next_id(self) -> int:
        """The id of the file that is written next."""
        return self._next

    def fill(self, at_least: int) -> None:
        """Put empty files in gaps, and at ids below ``at_least``. Raises OSError."""
        until = max(self._next, at_least if at_least <= _MAX_FILL else 0)
        if until - len(self.files) > _MAX_FILL:
            return  # a file with an absurd id
        for number in range(until):
            if number not in self.files:
                name = entry_name(number, PLACEHOLDER.lstrip(","))
                self._write(self._folder / name, b"")
                self.files[number] = SharedName(name, number)
        self._next = max(self._next, until)

    def has(self, content: str) -> bool:
        """Whether a file with this hash is there, or will be after :meth:`flush`."""
        return content in self.sums or any(name.sum == content for name, _ in self._waiting)

    def put(self, data: bytes, content: str, of: str = "", op: str = "") -> int:
        """Write a file under the next id, which is returned; it is there after :meth:`flush`.

        Raises OSError; the files since the last flush are then not there.
        """
        number = self._next
        name = SharedName(shared_name(number, content, of, op), number, content, of)
        self._waiting.append((name, data))
        self._next += 1
        waiting = sum(len(one) for _, one in self._waiting)
        if len(self._waiting) >= _BATCH or waiting > _BATCH_BYTES:
            self.flush()
        return number

    def flush(self) -> None:
        """Write the files that wait, and wait until they are on the disk. Raises OSError.

        All are written, then synced, then renamed: a sync after each file takes a hundred times as
        long.
        """
        waiting, self._waiting = self._waiting, []
        written: list[tuple[int, Path]] = []
        try:
            for number, (_, data) in enumerate(waiting):
                part = self.directory / f"{_NEW}{number}"
                written.append((os.open(part, _FLAGS, self._mode), part))
                os.fchmod(written[-1][0], self._mode)
                write_all(written[-1][0], data)
            for fd, _ in written:
                os.fsync(fd)
            for (name, _), (_, part) in zip(waiting, written, strict=True):
                part.rename(self._folder / name.name)
                self._note(name)
            if waiting:
                sync_folder(self._folder)
        except OSError as e:
            raise _named(e, self._folder) from None
        finally:
            for fd, part in written:
                os.close(fd)
                part.unlink(missing_ok=True)
            self._next = 1 + max(self.files, default=-1)

    def _note(self, name: SharedName) -> None:
        self.files[name.id] = name
        if name.sum:
            self.sums[name.sum] = name.id
        if name.of:
            self.origins[name.of] = name.id

    def empty(self, number: int) -> None:
        """Remove the content of a file; its name stays, for its id. Raises OSError."""
        self._write(self._folder / self.files[number].name, b"")

    def mark_unsafe(self, numbers: Iterable[int]) -> int:
        """Add ids to ``.unsafe``; returns how many are new. Raises OSError."""
        known = Unsafe(self.directory).load()
        new = set(numbers) - known
        if new:
            lines = "".join(f"{n}\n" for n in sorted(known | new))
            self._write(self.directory / UNSAFE, lines.encode())
        return len(new)

    def write(self, name: str, data: bytes) -> None:
        """Replace a file next to the queue. Raises OSError."""
        self._write(self.directory / name, data)

    def _write(self, file: Path, data: bytes) -> None:
        """Write a file, readable for all who may read its directory. Raises OSError."""
        try:
            with replacing(file, self.directory, sync=True) as fd:
                os.fchmod(fd, self._mode)
                write_all(fd, data)
        except OSError as e:
            raise _named(e, file) from None


def _named(error: OSError, file: Path) -> OSError:
    """Return the error with a file's name: an error of a full disk has none."""
    if error.filename is not None or error.errno is None:
        return error
    return OSError(error.errno, os.strerror(error.errno), str(file))


def imported_until(around: Path, name: str) -> int:
    """The highest id up to which any fuzzer in ``around`` has imported from its peer ``name``."""
    highest = 0
    for file in around.glob(f"*/{SYNCED}/{name}"):
        data = read_if_regular(file, _U32.size)
        if data is not None and len(data) == _U32.size:
            highest = max(highest, _U32.unpack(data)[0])
    return highest
