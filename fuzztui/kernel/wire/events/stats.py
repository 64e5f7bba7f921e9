"""The statistics of an instance, each with its key in ``fuzzer_stats`` and its total."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


def stat(default: float, key: str, total: str = "", *, series: bool = False) -> Any:
    """Declare a number of :class:`Stats`.

    ``default``: the value of an unknown number. ``key``: its name in ``fuzzer_stats``. ``total``:
    how the campaign's number follows from those of the instances: "sum", "max" or "min"; an empty
    string: there is none. ``series``: whether the state keeps the total over time.
    """
    return field(default=default, metadata={"key": key, "total": total, "series": series})


@dataclass(frozen=True, slots=True)
class Stats(Event):
    """Statistics of an instance, cumulative over restarts, at most a few times per second.

    -1: the engine does not report this number. ``age``: seconds between the measurement and the
    reading of these statistics. ``slow_age``: the same for ``stability`` and ``edges_total`` if
    they are reported more rarely than the rest (AFL's StatsD lacks both); else -1.
    ``execs_per_sec``: the recent rate; -1: not measured yet. ``find_age``: seconds since the last
    new entry that was not imported, if :class:`EntrySaved` does not show that time because the
    entries may be old; else -1.
    """

    kind: ClassVar[str] = "stats"
    instance: str
    execs: Count = stat(0, "execs_done", "sum", series=True)
    execs_per_sec: float = 0.0
    corpus: Count = stat(0, "corpus_count", "sum", series=True)
    favored: Count = stat(-1, "corpus_favored")
    pending: Count = stat(-1, "pending_total")
    crashes: Count = stat(0, "saved_crashes", "sum", series=True)
    hangs: Count = stat(0, "saved_hangs", "sum", series=True)
    edges: Count = stat(-1, "edges_found", "max", series=True)
    """The total is the maximum, because instances exchange their entries and cover the same."""
    edges_total: Count = stat(-1, "total_edges", "max")
    edges_valid: Count = stat(-1, "edges_valid", "max", series=True)
    valid: Count = stat(-1, "valid_inputs", "sum")
    invalid: Count = stat(-1, "invalid_inputs", "sum")
    cycles: Count = stat(-1, "cycles_done")
    cur_item: Count = stat(-1, "cur_item")
    max_depth: Count = stat(-1, "max_depth")
    stability: float = stat(-1.0, "stability", "min")
    age: float = 0.0
    slow_age: float = -1.0
    find_age: float = -1.0
    edges_third_party: Count = stat(-1, "edges_third_party", "max", series=True)
    """Executed lines (or functions) of libraries; no input is kept because of them."""
    findings_not_saved: Count = stat(-1, "findings_not_saved", "max")
    """Distinct findings beyond ``engine.max_findings``: a lower bound."""
    probes_left: Count = stat(-1, "probes_left", "max")
    """Cells of the coverage map that have a probe in trials; the others are covered, and trials run
    code without their probes."""
    other: dict[str, Any] = field(default_factory=dict)
    """Numbers that have no field, by their key in ``fuzzer_stats``: shown as they are."""
