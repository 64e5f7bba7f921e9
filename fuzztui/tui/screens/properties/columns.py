"""The columns of the table of properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.model.properties import PropertyRow
from fuzztui.tui.base import format
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.base.text import plain

SHARE = "share"
"""The column by which the table is sorted at first."""

STYLES = {"not run": "muted", "failed": "crash", "off": "muted", "run": "valid"}
"""The style of each state."""


def columns(asked: Callable[[str], str]) -> Sequence[Column[PropertyRow]]:
    """Return the columns. ``asked`` returns the pending weight of a property as text, or ""."""

    def weight(row: PropertyRow) -> Cell:
        if pending := asked(row.name):
            return pending, "pending"
        return (f"×{row.weight:g}", "") if row.weight != 1 and not row.reason else ("", "")

    return (
        Column("property", "property", lambda r: (plain(r.name), ""), lambda r: r.name, min=24,
               flex=True, cut=_end, value=lambda r: r.name),
        Column("state", "state", lambda r: (r.state, STYLES[r.state]), lambda r: r.state, min=7,
               value=lambda r: r.state),
        Column(SHARE, "share", _share, lambda r: r.share, "right", min=5, descending=True),
        Column("weight", "weight", weight, lambda r: r.weight, "right", min=6, descending=True),
        Column("killed", "killed", _killed, lambda r: r.killed, "right", spare=True,
               descending=True),
        _figure("trials", "trials", lambda r: r.trials),
        _figure("entries", "entries", lambda r: r.entries, style="corpus"),
        _figure("edges", "edges", lambda r: r.edges),
        Column("findings", "found", _findings, lambda r: r.findings, "right", descending=True),
        Column("cpu", "CPU", lambda r: (format.span(r.cpu_s), "muted"), lambda r: r.cpu_s, "right",
               needs=100, descending=True),
        Column("invalid", "invalid", _invalid, lambda r: r.invalid / (r.trials or 1), "right",
               needs=110, descending=True),
    )  # fmt: skip


def _end(text: str, room: int) -> str:
    """The end of a node id, which distinguishes tests: without folders, else without its start."""
    short = text
    while len(short) > room and "/" in short.partition("::")[0]:
        short = short.partition("/")[2]
    if len(short) > room and "::" in short:
        short = short.partition("::")[2]
    return short if len(short) <= room else "…" + short[1 - room :]


def _figure(
    name: str, title: str, of: Callable[[PropertyRow], int], style: str = ""
) -> Column[PropertyRow]:
    def cell(row: PropertyRow) -> Cell:
        return (format.count(of(row)), style) if of(row) else ("", "")

    return Column(name, title, cell, of, "right", descending=True)


def _share(row: PropertyRow) -> Cell:
    return ("", "") if row.reason else (format.share(row.share), "")


def _findings(row: PropertyRow) -> Cell:
    return (format.count(row.findings), "crash") if row.findings else ("", "")


def _killed(row: PropertyRow) -> Cell:
    return (format.count(row.killed), "killed") if row.killed else ("", "")


def _invalid(row: PropertyRow) -> Cell:
    return format.percent(row.invalid, row.trials), "muted"
