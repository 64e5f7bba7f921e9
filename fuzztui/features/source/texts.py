"""Events about the target's source and its coverage as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.events import CoverageBuild, Event, LinesCovered, SourceFile
from fuzztui.tui.labels.events import STATS, Described
from fuzztui.tui.labels.states import with_reason


def _file(event: SourceFile) -> Described:
    text = f"{event.path}  {several(len(event.functions), 'function')}"
    return Described("source", text, "muted", event.instance, STATS)


def _lines(event: LinesCovered) -> Described:
    where = f"#{event.entry}" if event.entry >= 0 else "on import"
    texts = [f"{path.rpartition('/')[2]}:{lines}" for path, lines in event.lines.items()]
    new = "  ".join(texts) or "branches only"
    return Described("lines", f"{where}  {new}", "muted", event.instance, STATS)


def _build(event: CoverageBuild) -> Described:
    style = "failed" if event.state == "failed" else "muted"
    text = with_reason(event.state, event.reason) + f" ({event.tool})" * bool(event.tool)
    return Described("coverage", text, style)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {SourceFile: _file, LinesCovered: _lines, CoverageBuild: _build}
