"""Receive a campaign's files on a host: ``RUN/shipped``, by hash, only what is not there yet.

The hub first names all files (``ship``, in parts), and is answered which contents are missing. It
sends these in pieces (``blob``); a piece that an earlier connection has brought is not sent again.
At the end (``ship`` with ``last``) all files must be there. Only regular files and directories are
made, below ``RUN/shipped``, never through a link.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import tomli
import tomli_w

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.base.files import open_regular, read_json, remove
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.gather import MAX_BYTES, MAX_FILES, SHIPPED, ShippedFile, digest_of
from fuzztui.machines.hosts.protocol import to_bytes
from fuzztui.machines.hosts.shipping import located
from fuzztui.run.campaign.load import MAX_FILE_SIZE
from fuzztui.run.campaign.rundir import SupervisorError, is_inside, prepare_run

PIECE: Final = 1 << 20
"""Bytes of a file in one message, at most."""

MAX_ROWS: Final = 2000
"""Files that are named in one message, at most."""

_MODES: Final = (0o644, 0o755)
_HASH = re.compile(r"[0-9a-f]{32}")
_MAX_PATH: Final = 1024
_MAX_NAME: Final = 255
_READ: Final = 1 << 20


def awaited(row: Any) -> ShippedFile:
    """Check a row of a hub: path, size, hash, mode. Raises ProtocolError."""
    if not isinstance(row, list) or len(row) != 4:
        raise ProtocolError("a file without path, size, hash and mode")
    path, size, digest, mode = row
    if not isinstance(digest, str) or not _HASH.fullmatch(digest) or mode not in _MODES:
        raise ProtocolError("a file without a hash or a mode")
    if not 0 <= whole(size) <= MAX_BYTES:
        raise ProtocolError("a file without a size, or a large one")
    return ShippedFile(relative_path(path), size, digest, mode)


def relative_path(path: Any) -> str:
    """Return a relative path that stays below its directory; else raise ProtocolError."""
    is_path = isinstance(path, str) and is_inside(path) and len(os.fsencode(path)) <= _MAX_PATH
    if is_path and all(len(os.fsencode(name)) <= _MAX_NAME for name in path.split("/")):
        return str(path)
    raise ProtocolError(f"{str(path)[:60]!r} is not a path below a directory")


def campaign_here(text: Any, run: Path) -> str:
    """Return the text of a campaign with this host's paths. Raises ProtocolError."""
    if not isinstance(text, str) or len(text) > MAX_FILE_SIZE:
        raise ProtocolError("the campaign is missing")
    try:
        return tomli_w.dumps(located(tomli.loads(text), os.fspath(run)))
    except tomli.TOMLDecodeError as e:
        raise ProtocolError(f"a campaign that is not valid TOML: {e}") from None


class Receiver:
    """Receives the files of one run. All methods block; one at a time."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._base = run / SHIPPED
        self._incoming = run / "supervisor" / "incoming"
        self._list = run / "supervisor" / "shipped.json"
        self._awaited: dict[str, ShippedFile] = {}
        self._missing: dict[str, list[ShippedFile]] = {}
        """By hash: the files whose content the hub is to send."""
        self._here: dict[str, str] = {}
        """By path: the hash of each named file that is in its place."""
        self._before: set[str] = set()
        """The paths of an earlier shipment."""

    def ship(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer which contents are missing, each with the bytes of it that are here already.

        Raises ProtocolError, OSError.
        """
        rows, directories = body.get("files"), body.get("directories", [])
        if not isinstance(rows, list) or not isinstance(directories, list):
            raise ProtocolError("files or directories are missing")
        if max(len(rows), len(directories)) > MAX_ROWS:
            raise ProtocolError("too many files in one message")
        if body.get("first") is True:
            self._begin()
        found = [awaited(row) for row in rows]
        self._awaited |= {file.path: file for file in found}
        total = sum(file.size for file in self._awaited.values())
        if total > MAX_BYTES or len(self._awaited) > MAX_FILES:
            raise ProtocolError("more files than may be shipped")
        for path in map(relative_path, directories):
            self._directory(Path(path))
        missing: dict[str, int] = {}
        for file in found:
            if not self._has(file):
                self._missing.setdefault(file.hash, []).append(file)
                missing[file.hash] = self._started(file)
        if body.get("last") is True:
            self._finish()
        return {"missing": missing, "free": shutil.disk_usage(self._run).free}

    def blob(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take pieces of contents: ``hash``, ``offset``, ``data``. Raises ProtocolError, OSError.

        A content that is complete is put in all its places.
        """
        pieces = body.get("pieces")
        if not isinstance(pieces, list) or len(pieces) > MAX_ROWS:
            raise ProtocolError("pieces are missing")
        for piece in pieces:
            digest = piece.get("hash") if isinstance(piece, dict) else None
            if not isinstance(digest, str) or digest not in self._missing:
                raise ProtocolError("a piece of no file that is missing")
            data = _unpacked(piece.get("data"))
            self._take(self._missing[digest], whole(piece.get("offset")), data)
        return {"stored": len(pieces)}

    # ------------------------------------------------------------------------- parts

    def _begin(self) -> None:
        try:
            prepare_run(self._run)
        except SupervisorError as e:
            raise ProtocolError(str(e)) from None
        self._base.mkdir(mode=0o700, exist_ok=True)
        self._incoming.mkdir(mode=0o700, exist_ok=True)
        self._awaited, self._missing, self._here = {}, {}, {}
        self._before = {*(read_json(self._list) or {})}

    def _finish(self) -> None:
        """Check that everything is there; remove what an earlier shipment had in addition."""
        for path in self._awaited:
            if path not in self._here:
                raise ProtocolError(f"{path} has not arrived")
        for path in self._before - self._awaited.keys():
            with contextlib.suppress(OSError, ProtocolError):
                place = self._base / relative_path(path)
                if self._is_inside(place):
                    place.unlink()
        replace_text(self._list, json.dumps(self._here))
        shutil.rmtree(self._incoming, ignore_errors=True)

    def _has(self, file: ShippedFile) -> bool:
        """Whether a file is in its place; an empty one is put there."""
        path = self._base / file.path
        with contextlib.suppress(OSError):
            same = self._is_inside(path) and path.lstat().st_size == file.size
            if same and _digest(path) == file.hash:
                path.chmod(file.mode)
                self._here[file.path] = file.hash
                return True
        if file.size == 0:
            self._incoming.joinpath(file.hash).write_bytes(b"")
            self._put(file, self._incoming / file.hash)
            return True
        return False

    def _is_inside(self, path: Path) -> bool:
        """Whether no directory above a file is a link that the target may have made."""
        inside = path.parent.relative_to(self._base)
        return path.parent.resolve() == self._base.resolve() / inside

    def _started(self, file: ShippedFile) -> int:
        """Number of bytes of a file that an earlier connection has brought; 0: none of use."""
        with contextlib.suppress(OSError):
            size = (self._incoming / file.hash).lstat().st_size
            return size if size < file.size else 0
        return 0

    def _take(self, files: list[ShippedFile], offset: int, data: bytes) -> None:
        size, digest = files[0].size, files[0].hash
        part = self._incoming / digest
        fd = open_regular(part, os.O_RDWR | os.O_CREAT)
        try:
            if not 0 <= offset <= os.fstat(fd).st_size or offset + len(data) > size:
                raise ProtocolError("a piece that does not continue its file")
            os.ftruncate(fd, offset)
            view = memoryview(data)
            while view:
                done = os.pwrite(fd, view, offset)
                view, offset = view[done:], offset + done
        finally:
            os.close(fd)
        if offset < size:
            return
        if _digest(part) != digest:
            part.unlink()
            raise ProtocolError(f"{files[0].path} has changed while it was sent")
        for file in files[1:]:
            copy = part.with_name(f"{digest}.copy")
            shutil.copyfile(part, copy)
            self._put(file, copy)
        self._put(files[0], part)

    def _put(self, file: ShippedFile, part: Path) -> None:
        """Move a complete content to its place."""
        path = self._directory(Path(file.path).parent) / Path(file.path).name
        if path.is_dir() and not path.is_symlink():
            remove(path)  # what is a file now was a directory
        part.chmod(file.mode)
        part.replace(path)
        self._here[file.path] = file.hash

    def _directory(self, inside: Path) -> Path:
        """Make a directory below ``shipped``; what is not one, or is a link, is replaced."""
        path = self._base
        for name in inside.parts:
            path /= name
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                if not stat.S_ISDIR(path.lstat().st_mode):
                    path.unlink()
                    path.mkdir(mode=0o700)
        return path


def _unpacked(text: Any) -> bytes:
    """The bytes of a piece, which is compressed. Raises ProtocolError."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(to_bytes(text), PIECE)
    except zlib.error:
        raise ProtocolError("a piece that is not compressed") from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ProtocolError("a piece that is too large, or cut off")
    return data


def _digest(path: Path) -> str:
    with os.fdopen(open_regular(path), "rb") as file:
        return digest_of(iter(lambda: file.read(_READ), b""))
