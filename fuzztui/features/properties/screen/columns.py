"""The columns of the table of properties."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from fuzztui.features.properties.fold import PropertyRow
from fuzztui.tui.base import format
from fuzztui.tui.base.columns import Cell, Column, count_column
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.weighed import weight_column
from fuzztui.tui.labels.legend import Legend

STYLES = {
    "not run": "muted", "failed": "crash", "off": "muted", "run": "valid", "passed": "valid",
}  # fmt: skip
"""The style of each state."""


def columns(
    asked: Callable[[str], str], shared: Callable[[], str]
) -> Sequence[Column[PropertyRow]]:
    """Return the columns.

    ``asked`` returns the pending weight of a property as text, or "". ``shared`` returns the start
    of all names, which is left out.
    """

    return (
        Column("property", "property", lambda r: (plain(r.name.removeprefix(shared())), ""),
               lambda r: r.name, min=24, flex=True, cut=brief_name, searched=lambda r: r.name),
        Column("state", "state", lambda r: (r.state, STYLES[r.state]), lambda r: r.state, min=7,
               value=lambda r: r.state),
        Column("share", "share", _share, lambda r: r.share, "right", min=5, descending=True),
        weight_column(asked, lambda r: not r.reason),
        count_column("killed", "killed", lambda r: r.killed, "killed", spare=True),
        count_column("trials", "trials", lambda r: r.trials),
        count_column("entries", "entries", lambda r: r.entries, style="corpus", drop=True),
        count_column("edges", "edges", lambda r: r.edges),
        count_column("findings", "found", lambda r: r.findings, "crash", drop=True),
        Column("cpu", "CPU", lambda r: (format.span(r.cpu_s), "muted"), lambda r: r.cpu_s, "right",
               needs=100, descending=True),
        Column("invalid", "invalid", _invalid, lambda r: r.invalid / (r.trials or 1), "right",
               needs=110, descending=True),
    )  # fmt: skip


def shared_start(names: Collection[str]) -> str:
    """Return what all names begin with: common folders; if all are of one file, the file too."""
    files = {name.partition("::")[0] for name in names}
    if len(files) == 1 and all("::" in name for name in names):
        return f"{files.pop()}::"
    folders = [file.split("/")[:-1] for file in (min(files, default=""), max(files, default=""))]
    same = 0
    while same < min(map(len, folders)) and folders[0][same] == folders[1][same]:
        same += 1
    return "".join(f"{folder}/" for folder in folders[0][:same])


def brief_name(text: str, room: int) -> str:
    """Return a node id in ``room`` cells: without folders, file and class, else without a middle.

    Tests are distinguished by the start of the function's name, or by the parameters at its end.
    """
    short = text
    while len(short) > room and "/" in short.partition("::")[0]:
        short = short.partition("/")[2]
    while len(short) > room and "::" in short.partition("[")[0]:
        short = short.partition("::")[2]
    if len(short) <= room:
        return short
    end = (room - 1) // 2
    return f"{short[: room - 1 - end]}…{short[len(short) - end :]}"


def _share(row: PropertyRow) -> Cell:
    return ("", "") if row.reason else (format.share(row.share), "")


def _invalid(row: PropertyRow) -> Cell:
    return format.percent(row.invalid, row.trials), "muted"


LEGEND = Legend({
    "properties": {
        "property": "A test with @given, or another target of the suite",
        "state": "run, failed (it has findings), off (weight 0), or not run: the details say why",
        "share": "Its part of the work from now on, by its yield and weight; work is loop turns "
        "and calls, not time",
        "weight": "Your weight, if it is not 1; 0 is off",
        "trials": "Inputs that were tried", "entries": "Queue entries that are for it",
        "edges": "Cells that its own entries cover", "findings": "Its findings by signature",
        "killed": "Mutants that its inputs were the first to kill",
        "cpu": "CPU time that its trials took", "invalid": "Part of its inputs that were rejected",
    },
})  # fmt: skip
"""What the columns mean."""
