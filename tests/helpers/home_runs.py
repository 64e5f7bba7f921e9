"""Run directories with short logs, for lists of runs."""

from __future__ import annotations

from pathlib import Path

from run_logs import run_with

from fuzztui.kernel.wire import events as ev


def make_run(
    path: Path,
    *,
    wall: float = 1e9,
    state: str = "finished",
    finds: int = 0,
    stats: int = 3,
    name: str = "c",
    kind: str = "zest",
) -> Path:
    """Make a run: its start, statistics, findings, and its end if ``state`` is one."""
    events: list[tuple[float, ev.Event]] = [
        (0.0, ev.CampaignStarted(name, kind, "lib:f", 7, instances=["main"], wall=wall)),
        (0.1, ev.CampaignState("running")),
    ]
    for n in range(1, stats + 1):
        figures = ev.Stats("main", n * 100, 50.0, n, edges=n * 10, edges_total=99)
        events.append((float(n), figures))
    for n in range(finds):
        file = f"crashes/id:{n}"
        events.append((stats + 1.0, ev.FindingSaved("main", "crash", file)))
        events.append((stats + 1.0, ev.FindingDescribed("main", "crash", file, f"S{n}", "title")))
    if state:
        events.append((stats + 2.0, ev.CampaignEnded(state, "why")))
    return run_with(path, *events, at_rest=bool(state))
