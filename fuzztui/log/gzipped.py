"""Records from a gzip file that is no sealed log: one that was recompressed or filtered."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from fuzztui.log.files import LogError, open_regular, write_all
from fuzztui.log.lines import Problems, decode_lines
from fuzztui.log.plain import PIECE, PlainLog

__all__ = ["GzipLog"]

_GIB = 1 << 30
_LIMIT = "FUZZTUI_UNPACK_GIB"


class GzipLog(PlainLog):
    """A gzip file that we did not write (``grep``ed, recompressed): unpacked to a nameless file.

    Raises :class:`LogError` if its first megabytes hold no record, if it unpacks to more than
    ``FUZZTUI_UNPACK_GIB`` GiB (1), or if the temporary directory cannot take that.
    """

    def __init__(self, path: Path, problems: Problems) -> None:
        limit = _unpack_limit()
        with os.fdopen(open_regular(path), "rb") as raw, gzip.open(raw) as unpacked:
            pieces = _pieces(unpacked, path, problems)
            first = next(pieces, b"")
            lines = first[: first.rfind(b"\n") + 1] or first
            if first and not decode_lines(lines, 0, str(path), Problems()):
                raise LogError(
                    f"{path}: no campaign log: no record in its first {len(first):,} bytes; "
                    "name a run, or a log that fuzztui wrote"
                )
            super().__init__(_temporary(), str(path), problems)
            done = 0
            for piece in chain([first], pieces):
                done += len(piece)
                if done > limit:
                    raise LogError(
                        f"{path}: unpacks to more than {limit / _GIB:g} GiB; "
                        f"set {_LIMIT}={2 * limit / _GIB:g} or more to allow that"
                    )
                try:
                    write_all(self._fd, piece)
                except OSError as e:
                    raise _no_room(e) from None


def _pieces(unpacked: gzip.GzipFile, path: Path, problems: Problems) -> Iterator[bytes]:
    """The content, up to where it is damaged, in pieces of :data:`PIECE` bytes."""
    done, part = 0, b""
    try:
        while fresh := unpacked.read1(PIECE):  # read() would lose what comes before damage
            part += fresh
            if len(part) >= PIECE:
                done += len(part)
                yield part
                part = b""
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        done += len(part)
        if isinstance(e, EOFError):
            words = "the file is cut off"
        elif done:
            words = "the file is damaged"
        else:
            words = "this is no gzip file"
        more = f"; what can be unpacked, {done:,} bytes, is read" if done else ""
        problems.note(f"{path}: {words}{more}")
    if part:
        yield part


def _unpack_limit() -> float:
    """Bytes. Raises :class:`LogError` if the environment's is no number."""
    text = os.environ.get(_LIMIT) or "1"
    try:
        gib = float(text)
    except ValueError:
        gib = 0.0
    if not 0 < gib < 1 << 30:
        raise LogError(f"{_LIMIT}={text!r} is no number of GiB above 0; set it to 4, say")
    return gib * _GIB


def _temporary() -> int:
    try:
        fd, name = tempfile.mkstemp(prefix="fuzztui-log-")
        Path(name).unlink()
    except OSError as e:
        raise _no_room(e) from None
    return fd


def _no_room(error: OSError) -> LogError:
    try:
        where = tempfile.gettempdir()
    except OSError:
        where = "TMPDIR"
    return LogError(
        f"{where}: a gzip log cannot be unpacked there: {error.strerror or error}; "
        "set TMPDIR to a directory with more room"
    )
