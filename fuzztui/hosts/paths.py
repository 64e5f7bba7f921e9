"""Paths of files that were sent to a host, in its events: as the files are called here.

So the source, mutants and stacks of all hosts are about the same files, which can be read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.hosts.gather import SHIPPED
from fuzztui.wire.events import Event, FindingDescribed, LinesCovered, MutantsFound, SourceFile


class PathsHere:
    """Translates paths below ``RUN/shipped`` of any host."""

    def __init__(self, shipped: Mapping[str, Path]) -> None:
        """``shipped``: the files of this machine by their paths below ``RUN/shipped``."""
        self._shipped = shipped

    def here(self, path: str) -> str:
        """Return the path of this machine; that of another file stays as it is."""
        place = path
        while found := place.partition(f"/{SHIPPED}/")[2]:
            if (file := self._shipped.get(found)) is not None:
                return str(file)
            place = found
        return path

    def event(self, event: Event) -> Event:
        """Return an event of a host with the paths of this machine."""
        match event:
            case SourceFile() | MutantsFound():
                return replace(event, path=self.here(event.path))
            case LinesCovered():
                lines, branches = self._by_path(event.lines), self._by_path(event.branches)
                return replace(event, lines=lines, branches=branches)
            case FindingDescribed():
                return replace(event, frames=[*map(self._frame, event.frames)])
        return event

    def _by_path(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {self.here(path): value for path, value in values.items()}

    def _frame(self, frame: Any) -> Any:
        file = frame.get("file") if isinstance(frame, dict) else None
        if not isinstance(file, str):
            return frame
        here = self.here(file)
        # Signatures are made of the names of files.
        same_name = here.rpartition("/")[2] == file.rpartition("/")[2]
        return {**frame, "file": here} if same_name else frame
