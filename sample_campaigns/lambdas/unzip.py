"""Unpacks archives that are put into a bucket, and removes them; never more than there is room."""

from __future__ import annotations

import datetime
import io
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from lambdas.events import Record, records
from lambdas.storage import StoredObject, delete, fetch, store

UNPACKED = "unpacked"
MAX_ENTRIES = 8
LARGEST_MEMBER = 64 * 1024
LARGEST_TOTAL = 256 * 1024
MAX_RATIO = 100
DEEPEST = 4
OLDEST = datetime.datetime(1990, 1, 1)
TYPES = {
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".json": "application/json",
    ".png": "image/png",
    ".zip": "application/zip",
}


class UnsafeArchive(Exception):
    """The archive is broken, or a bomb, or wants out of its directory."""


@dataclass
class Unpacked:
    written: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    removed: bool = False


def handler(event: dict[str, object], context: object) -> list[Unpacked]:
    return [unpack(record) for record in records(event)]


def unpack(record: Record) -> Unpacked:
    result = Unpacked()
    if not record.created:
        return result
    stored = fetch(record.bucket, record.key)
    if stored is None or not is_archive(stored):
        return result
    with open_archive(stored) as archive:
        members = checked(archive.infolist())
        for info in members:
            path = target(stored, info)
            if path is None:
                result.left_out.append(info.filename)
                continue
            body = archive.read(info)
            if len(body) != info.file_size:
                raise UnsafeArchive(f"{info.filename}: {len(body)} bytes, not {info.file_size}")
            metadata = {"unpacked-from": stored.bucket, "modified": modified(info)}
            store(UNPACKED, path, body, TYPES.get(suffix(info), "binary/octet-stream"), metadata)
            result.written.append(path)
    if result.written and not result.left_out:
        delete(stored.bucket, stored.key)
        result.removed = True
    return result


def is_archive(stored: StoredObject) -> bool:
    if stored.content_type in ("application/zip", "application/x-zip-compressed"):
        return True
    return stored.suffix == "zip" and stored.body[:2] == b"PK"


def open_archive(stored: StoredObject) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(stored.body))
    except zipfile.BadZipFile as e:
        raise UnsafeArchive(f"{stored.key}: {e}") from e


def checked(members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Its files, none of which is written unless all are harmless."""
    files = [info for info in members if not info.is_dir()]
    if len(files) > MAX_ENTRIES:
        raise UnsafeArchive(f"{len(files)} files")
    if sum(info.file_size for info in files) > LARGEST_TOTAL:
        raise UnsafeArchive("too large in all")
    names = set()
    for info in files:
        if info.filename in names:
            raise UnsafeArchive(f"{info.filename} twice")
        names.add(info.filename)
        if info.flag_bits & 1:
            raise UnsafeArchive(f"{info.filename} is encrypted")
        if info.file_size > LARGEST_MEMBER:
            raise UnsafeArchive(f"{info.filename} is too large")
        if info.compress_size and info.file_size / info.compress_size > MAX_RATIO:
            raise UnsafeArchive(f"{info.filename} is a bomb")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise UnsafeArchive(f"{info.filename} is a link")
    return files


def target(stored: StoredObject, info: zipfile.ZipInfo) -> str | None:
    """Where a file goes: below the archive's own name; None for what nobody misses."""
    path = PurePosixPath(info.filename)
    if path.is_absolute() or ".." in path.parts:
        raise UnsafeArchive(f"{info.filename} leads out of the archive")
    if path.parts[0] == "__MACOSX" or path.name.startswith("."):
        return None
    if len(path.parts) > DEEPEST:
        return None
    stem = stored.name[:-4] if stored.suffix == "zip" else stored.name
    return f"{stem}/{path}"


def suffix(info: zipfile.ZipInfo) -> str:
    return PurePosixPath(info.filename).suffix.lower()


def modified(info: zipfile.ZipInfo) -> str:
    """The time in the archive, unless the machine that packed it had no clock."""
    when = datetime.datetime(*info.date_time)
    return "unknown" if when < OLDEST else when.isoformat()
