"""The columns of the table of instances: statistics and their age."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.kernel.model.figures import FIGURES, Figure
from fuzztui.kernel.model.finding_tallies import groups_of
from fuzztui.kernel.model.passive import MUTANT_INPUTS, ORACLE, SEEDS, is_passive, to_look_at
from fuzztui.kernel.model.selectors import ENDED, instance_throughput, own_time
from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.model.stats import PASSIVE
from fuzztui.kernel.model.yields import Yields, rate_number
from fuzztui.kernel.wire.events import DIRECTORY_GONE
from fuzztui.kernel.wire.finding_kinds import CRASH, DIFFERS, KINDS, FindingKind
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import bars, resample
from fuzztui.tui.base.columns import Cell, Column, count_column
from fuzztui.tui.base.timeaxis import time_axis
from fuzztui.tui.labels.hosts import brief_link
from fuzztui.tui.labels.states import finding_sign, last_new_cell, state_sign, state_style
from fuzztui.tui.labels.status import Status, has_died, trouble_rank

REPORTING = frozenset({"running", "stalled"})
"""States in which new statistics are due; in other states their age means nothing."""

STATE = 13
"""Cells of the longest state, so that a usual change of state moves no other column."""

SPARK = 12
"""Cells of a sparkline."""

SPARK_NEEDS = 125
"""Cells of a table with sparklines."""

_BAD = ("failed", "stalled", "restarting")
"""States whose reasons are shown."""


def columns(
    status: Callable[[], Status],
    pending: Callable[[str], Sequence[str]],
    fuzzed: Callable[[Instance], str] = lambda _: "",
    series: Callable[[str], Series | None] = lambda _: None,
) -> Sequence[Column[Instance]]:
    """Return the columns, the dispensable ones last.

    ``status`` returns the current status, ``pending`` the unanswered commands of an instance,
    ``fuzzed`` the mutant that it fuzzes, ``series`` a series of instances. A column that no
    instance fills is hidden.
    """

    def state(instance: Instance) -> Cell:
        lost = status().is_out_of_reach(instance)
        died = has_died(instance, over=status().over)
        return state_cell(instance, pending(instance.id), lost=lost, died=died)

    def executions(instance: Instance) -> Cell:
        ran = 0 if is_passive(instance) else instance.corpus
        return format.executions(instance.stats.execs, ran), ""

    def urgency(instance: Instance) -> tuple[int, bool, bool]:
        rank = trouble_rank(instance, over=status().over)
        return rank, instance.state != "restarting", instance.state != "paused"

    def cpu(instance: Instance) -> Cell:
        return ("", "") if status().is_out_of_reach(instance) else _cpu(instance)

    def memory(instance: Instance) -> Cell:
        return ("", "") if status().is_out_of_reach(instance) else _memory(instance)

    def on(instance: Instance) -> Cell:
        there = status().hosts.get(instance.host)
        return ("", "") if there is None else brief_link(there, status())

    def place(instance: Instance) -> int:
        there = status().hosts.get(instance.host)
        return len(status().hosts) if there is None else there.place

    def groups(kind: FindingKind) -> Column[Instance]:
        """Return the column of a kind of findings; without findings an optional kind is hidden."""
        return count_column(
            kind.label, kind.label, lambda i: groups_of(kind, i, status().found), kind.category,
            zero="0" if kind.default else "", spare=not kind.default,
            # In a narrow table crashes matter more than how large corpus and coverage are.
            drop=kind.default and kind is not CRASH,
        )  # fmt: skip

    def yields(instance: Instance) -> Yields:
        return status().yields.instances.get(instance.id) or Yields()

    def spark(id: str, title: str, name: str, style: str) -> Column[Instance]:
        return Column(
            id, title, lambda i: (sparkline(series(f"{name}/{i.id}"), mean=name == "rate"), style),
            min=SPARK, max=SPARK, needs=SPARK_NEEDS, drop=True, spare=True,
        )  # fmt: skip

    def ran(instance: Instance) -> Cell:
        if status().campaigns == 1:
            return "", ""
        seconds = own_time(instance, status().now)
        return (format.clock(seconds) if seconds >= 0 else format.NONE), ""

    return (
        Column("id", "instance", lambda i: (i.id, "bold"), lambda i: i.id, max=24),
        Column(
            "state", "state", state, urgency, min=STATE, max=24, give=14,
        ),
        Column(
            "host", "host", on, place, min=4, max=24, drop=True, spare=True,
            value=lambda i: i.host,
        ),
        Column(
            "mutant", "mutant", lambda i: (fuzzed(i), "killed"), lambda i: i.mutant,
            max=20, drop=True, spare=True,
        ),
        Column(
            "binary", "binary", lambda i: (i.binary, ""), lambda i: i.binary, max=12, drop=True,
            spare=True,
        ),
        Column("age", "age", lambda i: age_cell(i, status()), lambda i: -i.stats_t, "right",
               spare=True, descending=True, stays=True),
        Column(
            "ran", "ran", ran, lambda i: own_time(i, status().now), "right",
            spare=True, descending=True,
        ),
        Column("execs", "execs", executions,
               lambda i: i.stats.execs, "right", drop=True, descending=True),
        Column(
            "rate", "exec/s", lambda i: rate_cell(i, status()), lambda i: per_second(i, status()),
            "right", descending=True,
        ),
        count_column("corpus", "corpus", lambda i: i.corpus, "corpus", zero="0", drop=True),
        count_column("edges", "edges", lambda i: i.stats.edges, "edge", zero="0", drop=True),
        Column(
            "libraries", "3rd party", _libraries, lambda i: i.stats.edges_third_party,
            "right", drop=True, spare=True, descending=True,
        ),
        *map(groups, KINDS),
        *(_reported(figure) for figure in FIGURES if figure.column),
        Column(
            "stability", "stable", _stability, lambda i: i.stats.stability,
            "right", drop=True, spare=True, descending=True,
        ),
        Column(
            "found", "last new", lambda i: last_new_cell(i.last_find_t, status()),
            lambda i: i.last_find_t, "right", drop=True, spare=True, descending=True,
        ),
        Column(
            "restarts", "restarts", _restarts, lambda i: i.restarts,
            "right", drop=True, spare=True, descending=True,
        ),
        spark("rate_trend", "exec/s trend", "rate", "soft rate"),
        Column(
            "cpu", "cpu", cpu, lambda i: i.cpu,
            "right", min=4, drop=True, spare=True, descending=True,
        ),
        Column(
            "rss", "memory", memory, lambda i: i.rss,
            "right", drop=True, spare=True, descending=True,
        ),
        spark("edges_trend", "edges trend", "edges", "soft edge"),
        Column(
            "yield", "edges/CPU h", lambda i: yield_cell(yields(i)), lambda i: yields(i).order,
            "right", drop=True, spare=True, descending=True,
        ),
    )  # fmt: skip


def yield_cell(yields: Yields) -> Cell:
    """Return new edges per CPU hour lately, or until now if there is no rate lately."""
    lately, whole = yields.late.per_hour("edges"), yields.whole.per_hour("edges")
    if lately >= 0:
        return rate_number(lately), "edge" if lately else "muted"
    return (rate_number(whole), "muted") if whole >= 0 else ("", "")


def sparkline(series: Series | None, *, mean: bool = False) -> str:
    """Return a series since the start of the campaign in :data:`SPARK` cells, from 0."""
    if series is None or len(series.times) < 2:
        return ""
    now = series.times[-1]
    axis = time_axis(0.0, now, SPARK // 2)
    values = resample(series.times, series.values, axis, now, mean=mean)
    # Never a full cell: rows of a table would run together.
    return bars(values, max((v for v in values if v is not None), default=0.0) * 8 / 7)


def state_cell(
    instance: Instance, pending: Sequence[str] = (), *, lost: bool = False, died: bool = False
) -> Cell:
    """Return the state, with the reason if it is a bad one.

    ``lost``: it is the last known one, because no supervisor runs or the host is not connected.
    ``died``: see :func:`has_died`.
    """
    if instance.id == MUTANT_INPUTS and not instance.pid:
        return "⇄ from mutants", "imported"
    if instance.id == ORACLE:
        words = to_look_at(instance.stats.pending) or "up to date"
        return f"{finding_sign(DIFFERS.category)} {words}", DIFFERS.category
    if instance.id == SEEDS:
        return f"{state_sign(PASSIVE)} fail", "imported"
    if instance.passive:
        return f"{state_sign(PASSIVE)} {instance.received:,} to import", "imported"
    gone = lost and instance.state not in ENDED and instance.state != "waiting"
    sign = "?" if gone else state_sign(instance.state)
    if pending:
        return f"{sign} {pending[0][: STATE - 3]}…", "pending"
    if gone:
        return f"? was {instance.state}", "muted"
    text = f"{sign} {state_word(instance)}"
    bad = died or instance.state in _BAD
    if bad and instance.reason:
        text += f": {instance.reason}"
    return text, ("bold " if bad else "") + state_style("failed" if died else instance.state)


def state_word(instance: Instance) -> str:
    """Return the state; ``deleted`` for a watched instance without its directory."""
    return "deleted" if instance.reason == DIRECTORY_GONE else instance.state


def rate_cell(instance: Instance, status: Status) -> Cell:
    """Return executions per second; none if no supervisor runs, or the host is not connected."""
    if status.is_out_of_reach(instance) and not status.over:
        return format.NONE, "muted"
    return format.rate(per_second(instance, status)), "rate"


def per_second(instance: Instance, status: Status) -> float:
    """Return executions per second: current, or on average once the campaign has ended."""
    fuzzing_s = status.running_s - status.overtime_s
    return instance_throughput(instance, fuzzing_s, over=status.over, lost=status.lost)


def age_cell(instance: Instance, status: Status) -> Cell:
    """Return the age of the statistics; an empty cell if they are current or final."""
    if instance.state not in REPORTING:
        return "", ""
    if instance.stats_t < 0:
        return "none", "muted"
    age = status.now - instance.stats_t
    if age < status.fresh_s:  # below this bound the age would flicker
        return (format.age_from(status.fresh_s, age), "muted") if status.watched else ("", "")
    return format.age(age), "bold hang" if age > status.stale_s else "muted"


def ages(instance: Instance, status: Status) -> tuple[Cell, Cell, Cell, bool, bool]:
    """Return all cells of a row that change with time alone, or with the end of the campaign."""
    there = status.hosts.get(instance.host)
    host = ("", "") if there is None else brief_link(there, status)
    age, found = age_cell(instance, status), last_new_cell(instance.last_find_t, status)
    return age, found, host, status.orphaned, status.over


def _stability(instance: Instance) -> Cell:
    percent = instance.stats.stability
    if percent < 0:
        return "", ""
    return format.percent(percent, 100.0), "hang" if percent < 80 else ""


def _libraries(instance: Instance) -> Cell:
    """Executed lines outside the application, if they are measured."""
    n = instance.stats.edges_third_party
    return (format.count(n), "imported") if n >= 0 else ("", "")


def _restarts(instance: Instance) -> Cell:
    return (str(instance.restarts), "hang") if instance.restarts > 0 else ("", "")


def _cpu(instance: Instance) -> Cell:
    return (f"{100 * instance.cpu:.0f}%", "") if instance.processes else ("", "")


def _memory(instance: Instance) -> Cell:
    return (format.size(instance.rss), "") if instance.processes else ("", "")


def _reported(figure: Figure) -> Column[Instance]:
    """The column of a figure; hidden while no instance reports it."""

    def number(instance: Instance) -> int:
        return int(figure.of(instance.stats))

    def cell(instance: Instance) -> Cell:
        value = number(instance)
        return ("", "") if value < 0 else (format.count(value), "" if value else "muted")

    return Column(
        figure.name, figure.column, cell, number, "right", drop=True, spare=True, descending=True
    )
