"""The first screen: is it running, does it still find anything, where does it stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual import on
from textual.containers import Grid
from textual.widget import Widget

from fuzztui.model.state import Changes, Instance, State
from fuzztui.tui import figures
from fuzztui.tui.actions import Situation
from fuzztui.tui.describe import state_sign, state_style
from fuzztui.tui.screens.base import CampaignScreen
from fuzztui.tui.status import STALE_S, Status
from fuzztui.tui.steering import pending_for
from fuzztui.tui.widgets.braille import Point
from fuzztui.tui.widgets.chart import Chart, Curve
from fuzztui.tui.widgets.columns import Cell, Column
from fuzztui.tui.widgets.eventlist import EventList
from fuzztui.tui.widgets.mutationline import MutationLine
from fuzztui.tui.widgets.table import BigTable
from fuzztui.tui.widgets.tiles import Tiles
from fuzztui.wire.commands import Pause, Resume

MOST_INSTANCES = 8
"""Lines of the instance table; more of them scroll."""


def _count(value: float) -> str:
    return figures.count(round(value))


CHARTS: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "chart-edges": ("Edges", (("edges", "all", "edge"), ("edges_valid", "valid", "valid"))),
    "chart-killed": ("Mutants killed", (("killed", "", "killed"),)),
    "chart-rate": ("Exec/s", (("rate", "", "rate"),)),
    "chart-corpus": ("Corpus", (("corpus", "", "corpus"),)),
    "chart-finds": ("Findings", (("crashes", "crashes", "crash"), ("hangs", "hangs", "hang"))),
}
"""Charts by widget id: title, then series, label and colour of each curve."""


class OverviewScreen(CampaignScreen):
    """Totals, charts, instances, events."""

    TAB = "overview"
    DEFAULT_CSS = """
    OverviewScreen {
        & Tiles { margin-top: 1; }
        & #charts {
            height: 5fr; min-height: 6;
            grid-size: 2 2; grid-gutter: 0 2; padding: 1 1 0 1;
        }
        & #instances { height: 3; margin-top: 1; }
        & EventList { height: 4fr; margin-top: 1; }
        & #chart-killed { display: none; }
        &.-mutants #chart-killed { display: block; }
        &.-mutants #chart-corpus { display: none; }
        &.-short #charts { grid-size: 2 1; height: 6; padding: 0 1; }
        &.-short #chart-corpus, &.-short #chart-finds { display: none; }
        &.-short.-mutants #chart-rate { display: none; }
        &.-short Tiles, &.-short #instances, &.-short EventList { margin-top: 0; }
        &.-tiny #charts { display: none; }
        &.-narrow #charts { grid-size: 1 1; }
        &.-narrow #chart-rate, &.-narrow #chart-corpus, &.-narrow #chart-finds { display: none; }
        &.-narrow.-mutants #chart-edges { display: none; }
    }
    """

    def body(self) -> Iterable[Widget]:
        """Tiles, charts, instances, events."""
        yield Tiles()
        yield MutationLine()
        yield Grid(
            *(
                Chart(
                    title,
                    figures.rate if id == "chart-rate" else _count,
                    noisy=id == "chart-rate",
                    id=id,
                )
                for id, (title, _) in CHARTS.items()
            ),
            id="charts",
        )
        yield BigTable(self._columns(), id="instances", empty="waiting for the first instance…")
        yield EventList()

    @property
    def instances(self) -> BigTable[Instance]:
        """The instance table."""
        return self.query_one("#instances", BigTable)

    def show(self, changes: Changes) -> None:
        """Repaint what ``changes`` names."""
        state = self.campaign
        if changes.reset or changes.campaign or changes.instances or changes.findings:
            self._lay_out(state)
            self._show_charts(state)
            self._show_totals(self.host.status)
        if changes.reset:
            self.instances.load(state.instances)
            self._fit_instances(state)
        elif changes.instances:
            self.instances.touch(changes.instances)
            self._fit_instances(state)
        if changes.commands:
            self.instances.invalidate()
        if changes.records or changes.reset:
            self.query_one(EventList).show(state)

    def tick(self, status: Status) -> None:
        """Ages move on."""
        super().tick(status)
        self._show_totals(status)
        if not status.over:
            self.instances.invalidate()

    def _show_totals(self, status: Status) -> None:
        self.query_one(Tiles).show(status)
        self.query_one(MutationLine).show(status)

    def _lay_out(self, state: State) -> None:
        """Where there are mutants, kills take the place of the chart that says least."""
        mutants = bool(state.mutants)
        if self.has_class("-mutants") != mutants:
            self.set_class(mutants, "-mutants")
            # The charts that come into view have no data yet.
            self.call_after_refresh(self.host.when_free, lambda: self._show_charts(self.campaign))

    def _fit_instances(self, state: State) -> None:
        height = 1 + min(MOST_INSTANCES, max(1, len(state.instances)))
        if self.instances.styles.height is None or self.instances.styles.height.value != height:
            self.instances.styles.height = height

    def _show_charts(self, state: State) -> None:
        for id, (_, wanted) in CHARTS.items():
            chart = self.query_one(f"#{id}", Chart)
            if chart.display:
                curves = [Curve(label, style, points(state, name)) for name, label, style in wanted]
                chart.set_curves([c for c in curves if c.points] or curves[:1], state.t)

    # ---------------------------------------------------------- instances

    def _columns(self) -> Sequence[Column[Instance]]:
        return (
            Column("id", "instance", lambda i: (i.id, "bold"), lambda i: i.id, max=16),
            Column("state", "state", self._state, lambda i: i.state, max=24),
            _figure("execs", "execs", lambda i: i.execs, figures.count),
            Column(
                "rate", "exec/s", lambda i: (figures.rate(i.execs_per_sec), "rate"),
                lambda i: i.execs_per_sec, "right", descending=True,
            ),
            _figure("corpus", "corpus", lambda i: i.corpus, figures.count, "corpus"),
            _figure("edges", "edges", lambda i: i.edges, figures.count, "edge"),
            _figure("crashes", "crashes", lambda i: i.crashes, figures.count, "crash"),
            _figure("hangs", "hangs", lambda i: i.hangs, figures.count, "hang"),
            _figure("pending", "queued", lambda i: i.pending, figures.count, "", needs=100),
            _figure("cycles", "cycles", lambda i: i.cycles, figures.count, "", needs=100),
            Column(
                "cpu", "cpu", lambda i: (f"{100 * i.cpu:.0f}%", ""), lambda i: i.cpu,
                "right", min=4, needs=100, descending=True,
            ),
            _figure("rss", "memory", lambda i: i.rss, figures.size, "", needs=100),
            Column("age", "figures", self._age, None, "right", min=8, needs=90),
            _figure("restarts", "restarts", lambda i: i.restarts, str, "hang", needs=118),
        )  # fmt: skip

    def _state(self, instance: Instance) -> Cell:
        waiting = pending_for(self.campaign).get(instance.id)
        text = f"{state_sign(instance.state)} {instance.state}"
        if waiting:
            return f"{text} {waiting[0]}…", "pending"
        if instance.reason and instance.state in ("failed", "stalled", "restarting"):
            text += f": {instance.reason}"
        return text, state_style(instance.state)

    def _age(self, instance: Instance) -> Cell:
        if instance.stats_t < 0:
            return "none yet", "muted"
        age = self.host.status.now - instance.stats_t
        # Under the bound the age only flickers; a finished instance's does not matter.
        if instance.state not in ("running", "stalled") or age < 3:
            return "current" if instance.state == "running" else figures.NONE, "muted"
        return figures.ago(0, age), "hang" if age > STALE_S else "muted"

    def describe_row(self) -> Situation:
        """The instance under the cursor."""
        instance = self.instances.current
        if instance is None:
            return Situation()
        return Situation(
            row=True,
            instance=instance.id,
            instance_state=instance.state,
            capabilities=frozenset(instance.capabilities),
        )

    def do_instance_pause(self) -> None:
        """Pause or resume one instance."""
        instance = self.instances.current
        if instance is None:
            return
        if instance.state == "paused":
            self.host.steer(Resume(instance.id), f"resume {instance.id}")
        else:
            self.host.steer(Pause(instance.id), f"pause {instance.id}")

    @on(BigTable.Highlighted)
    def _moved(self) -> None:
        self.host.refresh_footer()

    def on_resize(self) -> None:
        """Charts that come into view have no data yet."""
        self.call_after_refresh(self.host.when_free, lambda: self._show_charts(self.campaign))


def points(state: State, name: str) -> list[Point]:
    """A series of the state as (time, value) pairs."""
    series = state.series.get(name)
    return [] if series is None else list(zip(series.times, series.values, strict=False))


def _figure(
    id: str,
    title: str,
    of: Callable[[Instance], int],
    show: Callable[[int], str],
    style: str = "",
    *,
    needs: int = 0,
) -> Column[Instance]:
    """A column of numbers; a figure of nothing is not worth a colour."""

    def cell(instance: Instance) -> Cell:
        value = of(instance)
        return show(value), style if value > 0 else "muted"

    return Column(id, title, cell, of, "right", needs=needs, descending=True)
