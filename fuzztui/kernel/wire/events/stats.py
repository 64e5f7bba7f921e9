"""The figures that an instance reports; each is declared once, with key, total and places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


def stat(
    default: float,
    key: str,
    total: str = "",
    *,
    series: bool = False,
    title: str = "",
    within: str = "",
    column: str = "",
    means: str = "",
    status: str = "",
    metric: str = "",
) -> Any:
    """Declare a figure, a field of :class:`Stats`.

    ``default``: the value of an unknown number. ``key``: its name in ``fuzzer_stats``. ``total``:
    how the campaign's number follows from those of the instances: "sum", "max" or "min"; an empty
    string: there is none. ``series``: whether the state keeps the total over time.

    Where the figure is shown (screens and commands may mention it elsewhere, too):

    * ``title``: its name in the details of an instance: in a line of its own, or in that of the
      figure ``within`` (edges, corpus, or one with a line of its own); if it has a total, also in
      ``fuzztui status``, in a row of its own (then at most 9 characters) or in that of edges;
    * ``column``: the head of its column in the table of instances; ``means``: its meaning there,
      in the help, and in the metrics;
    * ``status``: its key in ``status --json``; ``coverage.total``: ``total`` in the object
      ``coverage``;
    * ``metric``: its name for Prometheus, behind ``fuzztui_`` or ``fuzztui_instance_``.
    """
    metadata = {
        "key": key, "total": total, "series": series, "title": title, "within": within,
        "column": column, "means": means, "status": status, "metric": metric,
    }  # fmt: skip
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Stats(Event, kind="stats"):
    """Statistics of an instance, cumulative over restarts, at most a few times per second.

    -1: the engine does not report this number. ``age``: seconds between the measurement and the
    reading of these statistics. ``slow_age``: the same for ``stability`` and ``edges_total`` if
    they are reported more rarely than the rest (AFL's StatsD lacks both); else -1.
    ``execs_per_sec``: the recent rate; -1: not measured yet. ``find_age``: seconds since the last
    new entry that was not imported, if :class:`EntrySaved` does not show that time because the
    entries may be old; else -1.
    """

    instance: str
    execs: Count = stat(
        0, "execs_done", "sum", series=True, status="execs", metric="executions_total",
        means="Executions of the target, for any reason",
    )  # fmt: skip
    execs_per_sec: float = 0.0
    corpus: Count = stat(
        0, "corpus_count", "sum", series=True, status="corpus", metric="corpus_entries",
        means="Queue entries",
    )  # fmt: skip
    favored: Count = stat(-1, "corpus_favored", title="favored", within="corpus")
    pending: Count = stat(
        -1, "pending_total", title="pending", within="corpus", column="pending",
        means="Entries that were not fuzzed yet",
    )  # fmt: skip
    crashes: Count = stat(0, "saved_crashes", "sum", series=True)
    hangs: Count = stat(0, "saved_hangs", "sum", series=True)
    edges: Count = stat(
        -1, "edges_found", "max", series=True, status="coverage.covered", metric="covered_edges",
        means="Cells of the coverage map that queue entries cover",
    )  # fmt: skip
    """The total is the maximum, because instances exchange their entries and cover the same."""
    edges_total: Count = stat(-1, "total_edges", "max", status="coverage.total")
    edges_valid: Count = stat(
        -1, "edges_valid", "max", series=True, status="coverage.valid", title="by valid inputs",
        within="edges",
    )  # fmt: skip
    valid: Count = stat(-1, "valid_inputs", "sum", status="valid")
    invalid: Count = stat(-1, "invalid_inputs", "sum", status="invalid")
    cycles: Count = stat(
        -1, "cycles_done", title="cycles", column="cycles", means="Passes over the whole queue"
    )
    cur_item: Count = stat(-1, "cur_item", title="now at entry", within="cycles")
    max_depth: Count = stat(-1, "max_depth", title="depth", within="cycles")
    stability: float = stat(
        -1.0, "stability", "min", status="stability",
        means="Part of the edges that do not vary between executions of one input",
    )  # fmt: skip
    age: float = 0.0
    slow_age: float = -1.0
    find_age: float = -1.0
    edges_third_party: Count = stat(
        -1, "edges_third_party", "max", series=True, status="coverage.third_party",
        title="3rd-party lines", within="edges",
    )  # fmt: skip
    """Executed lines (or functions) of libraries; no input is kept because of them."""
    findings_not_saved: Count = stat(-1, "findings_not_saved", "max", status="findings_not_saved")
    """Distinct findings beyond ``engine.max_findings``: a lower bound."""
    probes_left: Count = stat(
        -1, "probes_left", "max", status="coverage.probes_left",
        title="probes left", within="edges",
    )  # fmt: skip
    """Cells of the coverage map that have a probe in trials; the others are covered, and trials run
    code without their probes."""
    pending_favored: Count = stat(
        -1, "pending_favs", title="pending favored", within="corpus",
        means="Favored entries that were not fuzzed yet",
    )  # fmt: skip
    idle_cycles: Count = stat(
        -1, "cycles_wo_finds", title="without finds", within="cycles",
        means="Passes over the whole queue since the last find",
    )  # fmt: skip
    core: Count = stat(-1, "cpu_affinity", title="core")
    """The CPU to which afl-fuzz has bound itself; -1: none, or unknown."""
    other: dict[str, Any] = field(default_factory=dict)
    """Numbers that have no field, by their key in ``fuzzer_stats``: shown as they are."""
