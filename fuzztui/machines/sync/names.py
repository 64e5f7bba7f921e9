"""Names in the shared directory: of runs, and of their files. Those of others are untrusted."""

from __future__ import annotations

import hashlib
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.wire.afl import entry_name, id_of

MAX_NAME: Final = 40
"""Characters of a run's name: afl-fuzz refuses an instance with more than 50."""

MAIN: Final = "_main"

_OWN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_PEER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_SUM: Final = re.compile(r",sum:([0-9a-f]{32})(?=,|\Z)")
_OF: Final = re.compile(r",of:([A-Za-z0-9_.-]{1,80})(?=,|\Z)")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9,:+._-]")
_MAX_BYTES: Final = 255
_MIN_DIGITS: Final = 6
_MAX_OP: Final = 60


def digest(data: bytes) -> str:
    """The hash by which content is known everywhere."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def tag_of(run: Path, started: float) -> str:
    """Eight characters that identify a run: a new run in the same directory has others."""
    return digest(f"{run.resolve()} {started}".encode())[:8]


def default_name(tag: str) -> str:
    """The host's name with the tag of the run."""
    host = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname().partition(".")[0]).strip("-")
    return f"{host[: MAX_NAME - len(tag) - 1] or 'host'}-{tag}"


def check_own(name: str) -> str:
    """Why a run cannot have this name; an empty string if it can."""
    if not _OWN.fullmatch(name):
        return "needs letters, digits, - and _ only, and no - or _ at the start"
    return f"is longer than {MAX_NAME} characters" if len(name) > MAX_NAME else ""


def is_peer(name: str) -> bool:
    """Whether a directory of this name may be that of a run or a fuzzer."""
    return _PEER.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class SharedName:
    """A parsed file name of a shared queue.

    ``sum``: the hash of the content. ``sum`` and ``of`` are empty in names by other fuzzers.
    """

    name: str
    id: int
    sum: str = ""
    of: str = ""
    """The entry's run and its id there, which stay the same when trimming changes the content."""


def parse_shared(name: str) -> SharedName | None:
    """Parse any file name; None if it is not that of an entry."""
    number = id_of(name, _MIN_DIGITS)
    if number < 0 or "/" in name or "\0" in name or len(name.encode(errors="replace")) > _MAX_BYTES:
        return None
    found, origin = _SUM.search(name), _OF.search(name)
    return SharedName(name, number, found[1] if found else "", origin[1] if origin else "")


def shared_name(number: int, content: str, of: str = "", op: str = "") -> str:
    """The name of a file with this hash of its content. ``op``: how it was found, for people."""
    parts = [f"of:{of}"] if of else []
    parts.append(f"sum:{content}")
    if op:
        parts.append("op:" + _UNFIT.sub("_", op)[:_MAX_OP])
    return entry_name(number, ",".join(parts))
