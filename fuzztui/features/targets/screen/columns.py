"""The columns of the table of targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.features.targets.fold import TargetRow
from fuzztui.tui.base import format
from fuzztui.tui.base.columns import Cell, Column, count_column
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.weighed import weight_column
from fuzztui.tui.labels.legend import Legend

STYLES = {"running": "valid", "failed": "crash", "stalled": "warning"}
"""The style of each state; "muted" for others."""


def columns(asked: Callable[[str], str]) -> Sequence[Column[TargetRow]]:
    """Return the columns. ``asked`` returns the pending weight of a target as text, or ""."""

    return (
        Column("target", "target", lambda r: (plain(r.name), ""), lambda r: r.name, min=8,
               flex=True, searched=lambda r: r.name),
        Column("engine", "engine", lambda r: (plain(r.instance.engine), "muted"),
               lambda r: r.instance.engine, min=6, needs=90),
        Column("state", "state", lambda r: (r.state, STYLES.get(r.state, "muted")),
               lambda r: r.state, min=8, value=lambda r: r.state),
        Column("share", "share", lambda r: (format.share(r.share), ""), lambda r: r.share,
               "right", min=5, descending=True),
        weight_column(asked),
        Column("speed", "exec/s", _speed, lambda r: r.instance.execs_per_sec, "right", min=6,
               descending=True),
        count_column("execs", "execs", lambda r: max(0, r.instance.stat("execs")), drop=True),
        count_column("edges", "edges", lambda r: max(0, r.instance.stat("edges"))),
        count_column("corpus", "corpus", lambda r: max(0, r.instance.stat("corpus")),
                     style="corpus", drop=True),
        count_column("findings", "found", lambda r: r.findings, "crash"),
        Column("time", "time", lambda r: (format.span(r.core_s), "muted"), lambda r: r.core_s,
               "right", needs=100, descending=True),
    )  # fmt: skip


def _speed(row: TargetRow) -> Cell:
    rate = row.instance.execs_per_sec
    if row.state != "running" or rate < 0:
        return "", ""
    return format.rate(rate), ""


LEGEND = Legend({
    "targets": {
        "target": "Its name in the campaign file",
        "state": "waiting: it has no turn now; off: its weight is 0; else as an instance's",
        "share": "Its part of the cores' time from now on, by its new edges lately and its weight; "
        "after the end, the part that it had",
        "weight": "Your weight, if it is not 1; 0 is off",
        "edges": "Edges of this target: those of different targets cannot be added",
        "findings": "Its groups of findings, by signature",
        "time": "Seconds of its instances' turns so far",
    },
})  # fmt: skip
"""What the columns mean."""
