"""Run directories with logs of made-up events."""

from __future__ import annotations

from pathlib import Path

from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import Event


def run_with(run: Path, *events: Event | tuple[float, Event], at_rest: bool = True) -> Path:
    """A run whose log has these events: a second apart, or at the times of pairs."""
    for name in ("supervisor", "log"):
        (run / name).mkdir(parents=True, exist_ok=True)
    writer = LogWriter(run / "log")
    for n, event in enumerate(events):
        t, happened = event if isinstance(event, tuple) else (float(n), event)
        writer.append(happened, t)
    writer.close(at_rest=at_rest)
    return run
