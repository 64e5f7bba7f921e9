"""What ``fuzztui repro`` has found out about findings of watched fleets.

Nothing is written to a watched directory. A result is a file in ``$XDG_STATE_HOME/fuzztui/repro``,
from which each watcher takes it to its log. It is named after the name, size and time of the
finding's file, so that a fleet that is moved keeps its results, and no other fleet gets them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import replace
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.user_dirs import state_dir
from fuzztui.kernel.wire.codec import CodecError, decode_event, encode_event
from fuzztui.kernel.wire.events import FindingDescribed, FindingSaved

_MAX_BYTES = 1 << 20


def keep(file: Path, described: FindingDescribed) -> None:
    """Keep the description of the finding in ``file``. Raises OSError."""
    _home().mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_text(_home() / _name(str(file)), encode_event(described))


class Reproduced:
    """The results about the findings of the instance in the directory ``path``."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._findings: dict[str, FindingSaved] = {}
        self._looked = 0

    def of(self, finding: FindingSaved) -> FindingDescribed | None:
        """Return the description of a finding; None if it was not run, or has disappeared."""
        with contextlib.suppress(OSError, ValueError):
            name = _name(f"{self._path}/{finding.file}")
            self._findings[name] = finding
            return self._read(name)
        return None

    def look(self) -> list[FindingDescribed]:
        """Return descriptions that may be new, of findings that :meth:`of` was called with."""
        with contextlib.suppress(OSError):
            before, self._looked = self._looked, _home().stat().st_mtime_ns
            names = os.listdir(_home()) if self._looked != before else ()  # noqa: PTH208
            return [event for name in names if (event := self._read(name, before))]
        return []

    def _read(self, name: str, since: int = 0) -> FindingDescribed | None:
        with contextlib.suppress(OSError, CodecError):
            place, of = _home() / name, self._findings.get(name)
            # ctime: of the renaming, which is what changes the directory
            if of and place.stat().st_ctime_ns >= since:
                event = decode_event(read_regular(place, _MAX_BYTES))
                if isinstance(event, FindingDescribed):
                    return replace(event, instance=of.instance, category=of.category, file=of.file)
        return None


def _home() -> Path:
    return state_dir() / "repro"


def _name(file: str) -> str:
    status = os.stat(file)  # noqa: PTH116 - a path of AFL's may be no UTF-8
    of = f"{os.path.basename(file)}\0{status.st_size}\0{status.st_mtime_ns}"  # noqa: PTH119
    return hashlib.sha256(of.encode(errors="surrogateescape")).hexdigest()
