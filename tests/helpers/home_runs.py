"""Run directories with short logs, for lists of runs."""

from __future__ import annotations

from pathlib import Path

from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    FindingDescribed,
    FindingSaved,
    Stats,
)


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
    (path / "supervisor").mkdir(parents=True)
    (path / "log").mkdir()
    writer = LogWriter(path / "log")
    writer.append(CampaignStarted(name, kind, "lib:f", 7, instances=["main"], wall=wall), 0.0)
    writer.append(CampaignState("running"), 0.1)
    for n in range(1, stats + 1):
        writer.append(Stats("main", n * 100, 50.0, n, edges=n * 10, edges_total=99), float(n))
    for n in range(finds):
        file = f"crashes/id:{n}"
        writer.append(FindingSaved("main", "crash", file), stats + 1.0)
        writer.append(FindingDescribed("main", "crash", file, f"S{n}", "title"), stats + 1.0)
    if state:
        writer.append(CampaignEnded(state, "why"), stats + 2.0)
    writer.close(at_rest=bool(state))
    return path
