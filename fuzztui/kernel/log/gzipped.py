"""Records from a gzip file that fuzztui did not write: a recompressed or filtered log."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from fuzztui.kernel.base.atomic import write_all
from fuzztui.kernel.log.files import LogError, open_regular
from fuzztui.kernel.log.lines import Problems, decode_lines
from fuzztui.kernel.log.plain import PIECE, PlainLog

_GIB = 1 << 30
_LIMIT = "FUZZTUI_UNPACK_GIB"


class GzipLog(PlainLog):
    """A gzip file that fuzztui did not write, unpacked to a temporary file without a name.

    Raises :class:`LogError` if its first megabytes contain no record, if it unpacks to more than
    ``FUZZTUI_UNPACK_GIB`` GiB (default: 1), or if the temporary directory has no room for it.
    """

    def __init__(self, path: Path, problems: Problems) -> None:
        limit = _unpack_limit()
        with os.fdopen(open_regular(path), "rb") as raw, gzip.open(raw) as unpacked:
            pieces = _pieces(unpacked, path, problems)
            first = next(pieces, b"")
            lines = first[: first.rfind(b"\n") + 1] or first
            if first and not decode_lines(lines, 0, str(path), Problems()):
                raise LogError(
                    f"{path}: not a campaign log: no record in its first {len(first):,} bytes; "
                    "give a run, or a log that fuzztui wrote"
                )
            super().__init__(_temporary(), str(path), problems)
            done = 0
            for piece in chain([first], pieces):
                done += len(piece)
                if done > limit:
                    raise LogError(
                        f"{path}: unpacks to more than {limit / _GIB:g} GiB; "
                        f"set {_LIMIT}={2 * limit / _GIB:g} or more to allow this"
                    )
                try:
                    write_all(self._fd, piece)
                except OSError as e:
                    raise _no_room(e) from None


def _pieces(unpacked: gzip.GzipFile, path: Path, problems: Problems) -> Iterator[bytes]:
    """Yield the content up to the first damage, in pieces of :data:`PIECE` bytes."""
    done, part = 0, b""
    try:
        while fresh := unpacked.read1(PIECE):  # read() would lose the bytes before damage
            part += fresh
            if len(part) >= PIECE:
                done += len(part)
                yield part
                part = b""
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        done += len(part)
        if isinstance(e, EOFError):
            reason = "the file is cut off"
        elif done:
            reason = "the file is damaged"
        else:
            reason = "not a gzip file"
        more = f"; only its first {done:,} unpacked bytes are read" if done else ""
        problems.note(f"{path}: {reason}{more}")
    if part:
        yield part


def _unpack_limit() -> float:
    """The limit in bytes. Raises :class:`LogError` if the environment variable is invalid."""
    text = os.environ.get(_LIMIT) or "1"
    try:
        gib = float(text)
    except ValueError:
        gib = 0.0
    if not 0 < gib < 1 << 30:
        raise LogError(f"{_LIMIT}={text!r} is not a number of GiB above 0; set it to 4, say")
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
        f"{where}: cannot unpack a gzip log there: {error.strerror or error}; "
        "set TMPDIR to a directory with more room"
    )
