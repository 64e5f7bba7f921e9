"""Paths in the events of a host: files that were sent there, as they are called here.

So the source, mutants and stacks of all hosts are about the same files, which can be read here.
A host may be hostile, and screens and reports read the files that events name. Of other files
only installed code has its path; the path of any other one begins with the host's name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.kernel.wire.events import (
    Event,
    FindingDescribed,
    LinesCovered,
    MutantsFound,
    SourceFile,
)
from fuzztui.machines.hosts.gather import SHIPPED


class PathsHere:
    """Translates paths below ``RUN/shipped`` of any host."""

    def __init__(self, shipped: Mapping[str, Path], python: str = "") -> None:
        """``shipped``: the files of this machine by their paths below ``RUN/shipped``.

        ``python``: the target's interpreter here, below whose directory its modules are.
        """
        self._shipped = shipped
        self._installed = tuple(
            f"{os.path.normpath(place)}/"
            for place in (
                "/usr",
                sys.base_prefix,
                sys.prefix,
                python and Path(python).parent.parent,
            )
            if place
        )

    def here(self, path: str, host: str) -> str:
        """Return the path of this machine."""
        place = path
        while found := place.partition(f"/{SHIPPED}/")[2]:
            if (file := self._shipped.get(found)) is not None:
                return str(file)
            place = found
        if not path or (path == os.path.normpath(path) and path.startswith(self._installed)):
            return path
        return f"{host}:{path}"

    def event(self, event: Event, host: str) -> Event:
        """Return an event of a host with the paths of this machine."""
        match event:
            case SourceFile() | MutantsFound():
                return replace(event, path=self.here(event.path, host))
            case LinesCovered():
                lines = {self.here(path, host): value for path, value in event.lines.items()}
                branches = {self.here(path, host): value for path, value in event.branches.items()}
                return replace(event, lines=lines, branches=branches)
            case FindingDescribed():
                return replace(event, frames=[self._frame(f, host) for f in event.frames])
        return event

    def _frame(self, frame: Any, host: str) -> Any:
        file = frame.get("file") if isinstance(frame, dict) else None
        if not isinstance(file, str):
            return frame
        here = self.here(file, host) if "/" in file else file
        # Signatures contain the names of files, so that a name must not change.
        same_name = here.rpartition("/")[2] == file.rpartition("/")[2]
        return {**frame, "file": here} if same_name else frame
