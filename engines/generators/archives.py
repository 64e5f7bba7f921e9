"""Generators of archives that contain files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from typing import Final

from fuzztui.engines.generators.scope import generator
from fuzztui.engines.generators.text import ERRONEOUS, gen_date, gen_path, gen_text, mistake
from fuzztui.engines.inputs.source import Source

_COMPRESSED: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": bytes,
    "gz": lambda data: gzip.compress(data, 1, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


class Zip(bytes):
    """A ZIP file; a separate type, so that mutations can be directed at it."""

    __slots__ = ()


class Tar(bytes):
    """A tar file, which may be compressed."""

    __slots__ = ()


def _text(r: Source) -> bytes:
    return gen_text(r).encode()


@generator
def gen_zip(
    r: Source,
    *,
    content: Callable[[Source], bytes] = _text,
    most: int = 5,
    erroneous: float = ERRONEOUS,
) -> Zip:
    """A ZIP file with up to ``most`` directories, and files with content from ``content``."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for _ in r.more(0, most):
            info, data = _zipped(r, content)
            archive.NameToInfo.pop(info.filename, None)  # duplicate names are intended: no warning
            archive.writestr(info, data)
    data = out.getvalue()
    return Zip(data[: r.below(len(data))] if mistake(r, erroneous) else data)


@generator
def _zipped(r: Source, content: Callable[[Source], bytes]) -> tuple[zipfile.ZipInfo, bytes]:
    date = gen_date(r, low=1980, high=2099)
    year = min(max(date.year, 1980), 2107)  # the years that a ZIP file can store
    path = str(gen_path(r))
    is_directory = r.below(8) == 0
    info = zipfile.ZipInfo(path + "/" * is_directory, (year, date.month, date.day, 0, 0, 0))
    info.compress_type = r.choose([zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
    return info, b"" if is_directory else content(r)


@generator
def gen_tar(
    r: Source,
    *,
    content: Callable[[Source], bytes] = _text,
    most: int = 5,
    compression: str = "gz",
    erroneous: float = ERRONEOUS,
) -> Tar:
    """Like :func:`gen_zip`, a tar file. ``compression``: "gz", "bz2", "xz", or "" for none."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for _ in r.more(0, most):
            info, data = _tarred(r, content)
            archive.addfile(info, io.BytesIO(data))
    data = _COMPRESSED[compression](out.getvalue())
    return Tar(data[: r.below(len(data))] if mistake(r, erroneous) else data)


@generator
def _tarred(r: Source, content: Callable[[Source], bytes]) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(str(gen_path(r)))
    kind = r.weighted([(12, tarfile.REGTYPE), (2, tarfile.DIRTYPE), (1, tarfile.SYMTYPE)])
    data = content(r) if kind == tarfile.REGTYPE else b""
    info.type, info.size, info.mtime = kind, len(data), r.below(1 << 31)
    info.linkname = str(gen_path(r)) if kind == tarfile.SYMTYPE else ""
    return info, data
