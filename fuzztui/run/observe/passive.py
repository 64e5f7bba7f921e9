"""Passive instances that others fill: directories in ``out/`` with the file ``.passive``.

Engines import from them as from any peer. A hub, or ``fuzztui sync``, writes the file before the
first entry, so that no reader takes the directory for that of a fuzzer.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.wire.events import PassiveInstance
from fuzztui.run.observe.afl_names import parse_name

MARK: Final = ".passive"

MAX_PASSIVE: Final = 1000
"""The number of passive instances of a run that are reported."""

SETTLED_S: Final = 60.0
"""Seconds between two reports of a number of entries that grows by less than a tenth."""

_MAX_BYTES: Final = 4096
_MAX_SOURCE: Final = 300


def make_passive(directory: Path, source: str) -> None:
    """Make a passive instance, or change where its entries come from. Raises OSError."""
    directory.mkdir(mode=0o700, exist_ok=True)
    if source_of(str(directory)) != source[:_MAX_SOURCE]:
        replace_text(directory / MARK, json.dumps({"from": source}) + "\n")


def source_of(directory: str) -> str | None:
    """Where the entries of a passive instance come from; None: it is not a passive instance."""
    data = read_if_regular(f"{directory}/{MARK}", _MAX_BYTES)
    if data is None:
        return None
    try:
        source = loads(data)["from"]
    except (ValueError, TypeError, KeyError, RecursionError):
        source = ""
    return source[:_MAX_SOURCE] if isinstance(source, str) and source else "unknown"


class PassiveDirectories:
    """Watches ``out/`` for passive instances, and for changes of their numbers of entries."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._reported: dict[str, tuple[str, int]] = {}
        self._changed: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def look(self, others: Collection[str]) -> list[PassiveInstance]:
        """Return events about new passive instances, and about changed ones.

        ``others``: names in ``out/`` to leave out.
        """
        try:
            with os.scandir(self._out) as found:
                names = sorted(e.name for e in found if e.is_dir(follow_symlinks=False))
        except OSError:
            return []
        news: list[PassiveInstance] = []
        for name in names:
            if name.startswith(".") or name in others:
                continue
            if name in self._reported or len(self._reported) < MAX_PASSIVE:
                news += self._look_at(name)
        return news

    def _look_at(self, name: str) -> list[PassiveInstance]:
        path = f"{self._out}/{name}"
        if (source := source_of(path)) is None:
            return []
        before = self._reported.get(name)
        entries = self._entries(name, f"{path}/queue", 0 if before is None else before[1])
        if before == (source, entries):
            return []
        now = time.monotonic()
        if before is not None and before[0] == source:
            few = before[1] <= entries < before[1] * 1.1
            if few and now < self._due.get(name, 0.0):
                self._changed.pop(name, None)  # counted again when it is due
                return []
        self._due[name] = now + SETTLED_S
        self._reported[name] = source, entries
        return [PassiveInstance(name, source, entries)]

    def _entries(self, name: str, queue: str, before: int) -> int:
        """The number of entries; ``before`` if the directory has not changed since."""
        try:
            changed = os.lstat(queue).st_mtime_ns
            if self._changed.get(name) == changed:
                return before
            with os.scandir(queue) as found:
                number = sum(parse_name(e.name).id >= 0 for e in found)
        except OSError:
            return before
        self._changed[name] = changed
        return number
