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
from typing import Final

from fuzztui.base.atomic import replace_text
from fuzztui.base.files import read_if_regular
from fuzztui.base.user_dirs import state_dir
from fuzztui.wire.codec import CodecError, decode_event, encode_event
from fuzztui.wire.events import FindingDescribed, FindingSaved

MAX_KEPT: Final = 5_000
"""Results that are kept; the oldest ones are removed."""

_MAX_BYTES: Final = 1 << 20


def keep(file: Path, described: FindingDescribed) -> None:
    """Keep the description of the finding in ``file``. Raises OSError."""
    home = _home()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_text(home / _name(str(file)), encode_event(described))
    for old in sorted(home.glob("[0-9a-f]*"), key=lambda kept: kept.stat().st_mtime)[:-MAX_KEPT]:
        old.unlink(missing_ok=True)


class Reproduced:
    """The results about the findings of the instance in the directory ``path``."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._findings: dict[str, FindingSaved] = {}
        self._looked = 0

    def of(self, finding: FindingSaved) -> FindingDescribed | None:
        """Return the description of a finding; None if it was not run, or has disappeared."""
        with contextlib.suppress(OSError, ValueError, CodecError):
            name = _name(f"{self._path}/{finding.file}")
            self._findings[name] = finding
            return _read(name, finding)
        return None

    def look(self) -> list[FindingDescribed]:
        """Return descriptions that may be new, of findings that :meth:`of` was called with."""
        events = []
        with contextlib.suppress(OSError):
            before, self._looked = self._looked, _home().stat().st_mtime_ns
            names = os.listdir(_home()) if self._looked != before else []  # noqa: PTH208
            for name in self._findings.keys() & set(names):
                # ctime: of the renaming, which is what changes the directory
                if (_home() / name).stat().st_ctime_ns >= before:
                    with contextlib.suppress(CodecError):
                        events.append(_read(name, self._findings[name]))
        return [event for event in events if event is not None]


def _read(name: str, of: FindingSaved) -> FindingDescribed | None:
    """Return a result; None if it is of another kind. Raises OSError, CodecError."""
    data = read_if_regular(_home() / name, _MAX_BYTES)
    event = decode_event(data) if data else None
    if not isinstance(event, FindingDescribed):
        return None
    return replace(event, instance=of.instance, category=of.category, file=of.file)


def _home() -> Path:
    return state_dir() / "repro"


def _name(file: str) -> str:
    status = os.stat(file)  # noqa: PTH116 - a path of AFL's may be no UTF-8
    of = f"{os.path.basename(file)}\0{status.st_size}\0{status.st_mtime_ns}"  # noqa: PTH119
    return hashlib.sha256(of.encode(errors="surrogateescape")).hexdigest()
