"""The Overview screen: totals, charts, instances and the latest events."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.containers import Grid
from textual.widget import Widget

from fuzztui.model.oracle import FUZZLESS
from fuzztui.model.selectors import ENDED, group_heads
from fuzztui.model.state import Changes, Instance, State
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import Point
from fuzztui.tui.base.chart import Chart, Curve
from fuzztui.tui.base.columns import Cell
from fuzztui.tui.frame.action_context import ActionContext, row_context
from fuzztui.tui.frame.command_sender import pending_for
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.closing import closing_rows
from fuzztui.tui.labels.instance_columns import ages, columns
from fuzztui.tui.labels.instances import Fact, present, whole
from fuzztui.tui.labels.mutants import brief_place
from fuzztui.tui.labels.status import AFL, Status
from fuzztui.tui.screens.overview.closing_card import ClosingCard
from fuzztui.tui.screens.overview.event_list import EventList
from fuzztui.tui.screens.overview.instance import InstanceScreen, InstanceStrip
from fuzztui.tui.screens.overview.lines import MixtureLine, MutationLine, TargetingLine
from fuzztui.tui.screens.overview.tiles import Tiles
from fuzztui.wire.commands import Pause, Resume
from fuzztui.wire.finding_kinds import KINDS, kind_of

MAX_INSTANCES = 8
"""Lines of the instance table; a fleet of more instances gets more room, and scrolls."""

CALM_S = 20.0
"""Seconds after the last age until its column is hidden, so that it does not flicker."""


def _count(value: float) -> str:
    return format.count(round(value))


RATE, FINDINGS = "chart-rate", "chart-finds"

CHARTS: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "chart-edges": ("Edges", (("edges", "all", "edge"), ("edges_valid", "valid", "valid"))),
    "chart-libraries": (
        "Library code",
        (("edges_third_party", "lines run", "imported"),),
    ),
    "chart-killed": ("Mutants killed", (("killed", "", "killed"),)),
    RATE: ("Exec/s", (("rate", "", "rate"),)),
    "chart-corpus": ("Corpus", (("corpus", "", "corpus"),)),
    FINDINGS: ("Findings", tuple((k.category, k.plural, k.category) for k in KINDS)),
}  # fmt: skip
"""Charts by widget id: title, then series (or category), label and colour of each curve."""


class OverviewScreen(CampaignScreen):
    """Totals, charts, instances, events."""

    TAB = "overview"
    SCOPES = ("fuzzing",)
    DEFAULT_CSS = """
    OverviewScreen {
        & Tiles { margin-top: 1; }
        & #charts {
            height: 5fr; min-height: 6;
            grid-size: 2 2; grid-gutter: 0 2; padding: 1 1 0 1;
        }
        & #instances { height: 3; margin-top: 1; }
        & EventList { height: 4fr; margin-top: 1; }
        &.-afl InstanceStrip, &.-fleet InstanceStrip { display: block; }
        &.-tall InstanceStrip { height: 2; }
        &.-fleet #instances { height: 1fr; }
        &.-fleet EventList { height: 4; }
        &.-fleet.-short #charts { display: none; }
        &.-fleet.-tall #charts { grid-size: 3 1; height: 8; }
        &.-fleet.-tall.-medium #charts { grid-size: 2 1; }
        &.-fleet.-tall.-medium #chart-finds { display: none; }
        &.-fleet.-tall #chart-corpus { display: none; }
        &.-fleet.-tall #instances { height: 3fr; }
        &.-fleet.-tall EventList { height: 2fr; }
        &.-first MutationLine { height: 2; }
        &.-stage1 #chart-edges { display: none; }
        &.-first.-tiny MutationLine { height: 1; }
        & #chart-killed, & #chart-libraries { display: none; }
        &.-libraries #chart-libraries { display: block; }
        &.-libraries #chart-corpus { display: none; }
        &.-libraries.-short #chart-libraries { display: none; }
        &.-libraries.-narrow #chart-libraries { display: none; }
        &.-libraries.-fleet #chart-libraries { display: none; }
        &.-mutants #chart-killed, &.-stage1 #chart-killed { display: block; }
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

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, list[str]] = {}
        self._ages: dict[str, tuple[Cell, Cell, bool, bool]] = {}
        self._closed_seq = 0
        """The record up to which the closing card was made; 0: there is none."""
        self._last_age_t = -1.0
        """Campaign time at which the statistics of any instance were last old, in seconds."""

    def body(self) -> Iterable[Widget]:
        """Yield tiles, charts, instances and events."""
        yield Tiles()
        yield MutationLine()
        yield MixtureLine()
        yield TargetingLine()
        yield Grid(
            *(
                Chart(
                    title,
                    format.rate if id == RATE else _count,
                    noisy=id == RATE,
                    id=id,
                )
                for id, (title, _) in CHARTS.items()
            ),
            id="charts",
        )
        yield BigTable(
            columns(lambda: self.host.status, self._pending_of, self._mutant_of),
            id="instances",
        )
        yield InstanceStrip()
        yield ClosingCard()
        yield EventList()

    @property
    def instances(self) -> BigTable[Instance]:
        """The instance table."""
        return self.query_one("#instances", BigTable)

    def show(self, changes: Changes) -> None:
        """Repaint what changed."""
        state = self.campaign
        if changes.reset or changes.commands:
            before, self._pending = self._pending, pending_for(state)
            if not changes.reset:
                steered = before.keys() ^ self._pending.keys()
                self.instances.touch(steered & state.instances.keys())
        if changes.reset or changes.campaign or changes.instances or changes.findings:
            self._lay_out(state)
            self._show_charts(state)
            self._show_totals(self.host.status)
        self.instances.show_empty(
            "no instance" if state.state in ENDED else "waiting for the first instance…"
        )
        if changes.reset:
            # Instances that have fuzzed a mutant and ended are on the screen of mutants.
            self.instances.rows.narrow("", lambda i: bool(present([i])))
            self.instances.load(state.instances)
            self._fit_instances(state)
        elif changes.instances:
            self.instances.touch(changes.instances)
            self._fit_instances(state)
            self._show_current()
        if changes.records or changes.reset:
            self.query_one(EventList).show(state)

    def tick(self, status: Status) -> None:
        """Update ages."""
        super().tick(status)
        self._show_totals(status)
        self.query_one(EventList).advise(status.advice)
        self._close(status)
        # Only rows whose ages have changed: a fleet may have a hundred.
        now = {id: ages(i, status) for id, i in list(self.campaign.instances.items())}
        self.instances.touch(id for id, words in now.items() if words != self._ages.get(id))
        self._ages = now
        self._hide_ages(status)
        self._show_current()

    def _close(self, status: Status) -> None:
        """Show the closing card once a campaign has ended."""
        state = self.campaign
        ended = status.over and status.mode == "live"
        if (closed := state.seq if ended else 0) == self._closed_seq:
            return
        self._closed_seq = closed
        rows = closing_rows(state, status, self.host.run_dir) if ended else []
        because = f": {status.reason}" if status.reason else ""
        self.query_one(ClosingCard).show(f"The campaign has {status.state}{because}", rows)

    def _hide_ages(self, status: Status) -> None:
        """Hide the column of ages some time after the last age was shown."""
        if any(words for (words, _), *_ in self._ages.values()):
            self._last_age_t = status.now
        elif self._last_age_t >= 0 and abs(status.now - self._last_age_t) >= CALM_S:
            self._last_age_t = -1.0
            self.instances.remeasure("age")

    def _show_current(self) -> None:
        strip = self.query_one(InstanceStrip)
        instance = self.instances.current
        mutant = None if instance is None else self.campaign.mutants.get(instance.mutant)
        strip.show(instance, self.campaign.instances, self.host.status, mutant)

    def _show_totals(self, status: Status) -> None:
        self.query_one(Tiles).show(status)
        self.query_one(MutationLine).show(status)
        self.query_one(MixtureLine).show(status)
        self.query_one(TargetingLine).show(status)

    def _lay_out(self, state: State) -> None:
        """Show the charts that matter: kills if there are mutants, libraries if counted."""
        before = self.classes
        self.set_class(state.engine == AFL, "-afl", update=False)
        first = bool(state.stage)  # fuzz-first: the target's own curves matter more
        self.set_class(first, "-first", update=False)
        wanted = {
            "-mutants": bool(state.mutants) and not first,
            # In the mutant phase no instance reports what the target covers.
            "-stage1": state.stage == "mutants",
            "-libraries": "edges_third_party" in state.series,
        }
        if any(self.has_class(name) != there for name, there in wanted.items()):
            for name, there in wanted.items():
                self.set_class(there, name, update=False)
            # Charts that become visible have no data yet.
            self.call_after_refresh(self.host.when_free, lambda: self._show_charts(self.campaign))
        if self.classes != before:
            self.update_node_styles()  # of all widgets: once

    def _fit_instances(self, state: State) -> None:
        many = len(self.instances.rows)
        over = len(state.instances) - many
        if not any(i.mutant for i in present(state.instances.values())):
            self.instances.remeasure("mutant")
        self.instances.set_caption(*((f"+{over:,} ended", f"+{over:,}") if over else ()))
        fleet = many > MAX_INSTANCES
        if fleet != self.has_class("-fleet"):
            self.set_class(fleet, "-fleet")
            self.call_after_refresh(self.host.when_free, lambda: self._show_charts(self.campaign))
            self.instances.styles.height = None  # the style sheet's
        if not fleet:
            height = 1 + max(1, many)
            old = self.instances.styles.height
            if old is None or old.value != height:
                self.instances.styles.height = height

    def _show_charts(self, state: State) -> None:
        for id, (_, wanted) in CHARTS.items():
            chart = self.query_one(f"#{id}", Chart)
            if chart.display:
                drawn = findings if id == FINDINGS else points
                over = average(self.host.status) if id == RATE else ""
                curves = [Curve(t, style, drawn(state, name), over) for name, t, style in wanted]
                shown = [c for c in curves if c.points] or curves[:1]
                mark = state.stage_t if state.stage == "target" else -1.0
                chart.set_curves(shown, state.t, mark)

    # ---------------------------------------------------------- instances

    def _mutant_of(self, instance: Instance) -> str:
        mutant = self.campaign.mutants.get(instance.mutant)
        return instance.mutant if mutant is None else brief_place(mutant)

    def _pending_of(self, instance: str) -> list[str]:
        return self._pending.get(instance, [])

    def describe_row(self) -> ActionContext:
        """Return the context of the instance under the cursor."""
        instance = self.instances.current
        if instance is not None and instance.id in FUZZLESS:
            return ActionContext(row=True)  # a passive instance cannot be steered
        return row_context(instance)

    def do_instance_pause(self) -> None:
        """Pause or resume one instance."""
        instance = self.instances.current
        if instance is None:
            return
        if instance.state == "paused":
            self.host.steer(Resume(instance.id), f"resume {instance.id}")
        else:
            self.host.steer(Pause(instance.id), f"pause {instance.id}")

    def do_overview_copy_next(self) -> None:
        """Copy the next command line of the closing card."""
        if line := self.query_one(ClosingCard).next_command():
            self.host.copy(line, "command")
        else:
            self.notify("This campaign has no run directory: there is no command.", timeout=4)

    @on(BigTable.Highlighted)
    def _moved(self) -> None:
        self._show_current()
        self.host.refresh_footer()

    @on(BigTable.Selected, "#instances")
    def _opened(self, event: BigTable.Selected) -> None:
        if not self.may_take_focus:
            return
        key = event.key or ""

        def look() -> list[Fact]:
            instances = self.campaign.instances
            instance = instances.get(key)
            if instance is None:
                return []
            mutant = self.campaign.mutants.get(instance.mutant)
            return whole(instance, instances.keys(), self.host.status, mutant)

        self.app.push_screen(InstanceScreen(look))

    def on_resize(self) -> None:
        """Fill charts that become visible."""
        self.call_after_refresh(self.host.when_free, lambda: self._show_charts(self.campaign))


def average(status: Status) -> str:
    """Return the average rate of a campaign that has ended; an empty string before."""
    return f"{format.rate(status.execs_per_sec)} on average" if status.over else ""


def findings(state: State, category: str) -> list[Point]:
    """Return (campaign time, number of groups of findings) pairs."""
    kind = kind_of(category)
    at = group_heads(state, kind)
    if not at:  # the engines' counts, unless the files in this folder are known
        known = any(kind_of(f.category).folder == kind.folder for f in state.findings.values())
        return points(state, kind.folder) if kind.default and not known else []
    return [(0.0, 0.0), *((t, float(n)) for n, t in enumerate(at, 1)), (state.t, float(len(at)))]


def points(state: State, name: str) -> list[Point]:
    """Return a series of the state as (campaign time, value) pairs."""
    series = state.series.get(name)
    return [] if series is None else list(zip(series.times, series.values, strict=False))
