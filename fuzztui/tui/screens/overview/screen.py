"""The Overview screen: totals, charts, instances and the latest events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from fuzztui.kernel.model.gains import Gains
from fuzztui.kernel.model.passive import is_passive
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import Changes, Instance, State
from fuzztui.kernel.wire.commands import Pause, Resume
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.dialogs import AskScreen
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action_context import ActionContext, row_context
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.frame.command_sender import pending_for
from fuzztui.tui.frame.feature_screens import overview_lines
from fuzztui.tui.frame.ghost import GHOST_HIDDEN
from fuzztui.tui.frame.overview_line import OverviewLine
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.closing import closing_rows, closing_title
from fuzztui.tui.labels.facts import fact
from fuzztui.tui.labels.features import feature_columns
from fuzztui.tui.labels.hosts import host_facts
from fuzztui.tui.labels.instance_columns import age_cell, ages, columns
from fuzztui.tui.labels.instances import present, whole
from fuzztui.tui.labels.mutants import brief_place
from fuzztui.tui.labels.status import AFL, Status, trouble_rank
from fuzztui.tui.screens.overview.aside import Aside
from fuzztui.tui.screens.overview.charts import ChartGrid
from fuzztui.tui.screens.overview.closing_card import ClosingCard
from fuzztui.tui.screens.overview.event_list import EventList
from fuzztui.tui.screens.overview.tables import HostTable, HostTabs, InstanceStrip, lines_of
from fuzztui.tui.screens.overview.targets import Targets
from fuzztui.tui.screens.overview.tiles import Tiles

ROOMY = 38
"""Rows of a terminal from which on charts have seven rows, until the closing card needs them."""

MAX_INSTANCES = 8
"""Lines of the instance table; a fleet of more instances gets more room, and scrolls."""

MAX_ON_HOSTS = 4
"""The same for a campaign on hosts, whose tabs and warnings need room, too."""

CHART_ROWS = 6
"""Rows of the charts in a low terminal."""

EVENT_ROWS = 4
"""Rows of the event list, with its title, for which charts are hidden after the end."""

CALM_S = 20.0
"""Seconds without old statistics after which the column of ages is hidden: it must not flicker."""

CHARTS_S = 3.0
"""Seconds between two drawings of the charts of a live campaign, unless something is found: at each
poll they were three quarters of all bytes to the terminal."""


class OverviewScreen(CampaignScreen):
    """Totals, charts, instances, events."""

    TAB = "overview"
    SCOPES = ("fuzzing",)
    AUTO_FOCUS = "#instances"

    @classmethod
    def scopes(cls) -> tuple[str, ...]:
        """Return all scopes, with that of the charts, whose keys need the focus."""
        return (*super().scopes(), "chart")

    DEFAULT_CSS = """
    OverviewScreen {
        & Tiles, & Targets { margin-top: 1; }
        &.-targets Tiles, &.-targets #charts { display: none; }
        &.-targets Targets { display: block; }
        & #charts { height: 5fr; min-height: 15; padding: 1 1 0 1; }
        & #lower { height: 5fr; }
        & #left { width: 1fr; }
        & #instances, & #hosts { height: 3; margin-top: 1; }
        & #hosts { display: none; }
        &.-on-hosts #hosts { display: block; }
        &.-on-hosts #instances { display: none; }
        & HostTabs { margin-top: 1; }
        &.-hosts HostTabs { display: block; }
        &.-hosts #instances, &.-hosts #hosts { margin-top: 0; }
        & EventList { height: 1fr; }
        & Aside { display: none; width: 33%; margin: 1 1 0 2; }
        &.-vast Aside { display: block; }
        &.-roomy #charts { min-height: 19; }
        &.-afl InstanceStrip, &.-fleet InstanceStrip, &.-hosts InstanceStrip { display: block; }
        &.-tall InstanceStrip, &.-on-hosts InstanceStrip { height: 2; }
        &.-fleet #instances, &.-fleet #hosts { height: 1fr; }
        &.-fleet EventList { height: 4; }
        &.-fleet.-short #charts { display: none; }
        &.-fleet.-tall #charts { height: 10; min-height: 10; }
        &.-fleet.-tall #lower { height: 1fr; }
        &.-fleet.-tall #instances, &.-fleet.-tall #hosts { height: 3fr; }
        &.-fleet.-tall EventList { height: 2fr; }
        &.-short #charts { height: 6; min-height: 6; padding: 0 1; }
        &.-short #lower, &.-tiny #lower { height: 1fr; }
        &.-short Tiles, &.-short Targets, &.-short #instances, &.-short HostTabs { margin-top: 0; }
        &.-tiny Tiles, &.-tiny Targets, &.-tiny #instances, &.-tiny HostTabs { margin-top: 0; }
        &.-tiny #charts, &.-crowded #charts { display: none; }
        &.-crowded #instances { max-height: 4; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, list[str]] = {}
        self._ages: Mapping[str, tuple[object, ...]] = {}
        self._host = ""
        """The host whose instances are shown; an empty string: all."""
        self._closed_seq = 0
        """The record up to which the closing card was made; 0: there is none."""
        self._tells_story: bool | None = None
        """Whether the user wants the story; None: once a live campaign has ended."""
        self._charts_due = False
        """Whether the charts have something new to show."""
        self._last_age_t = -1.0
        """Campaign time at which the statistics of any instance were last old, in seconds."""

    def on_mount(self) -> None:
        """Draw charts from time to time."""
        super().on_mount()
        self.set_interval(CHARTS_S, self._show_due_charts)

    def body(self) -> Iterable[Widget]:
        """Yield tiles, charts, instances and events."""
        yield Tiles()
        yield Targets()
        yield from overview_lines()
        yield ChartGrid(id="charts")
        every = columns(
            lambda: self.host.status, self._pending_of, self._mutant_of, self._series_of
        )
        instances = BigTable(
            [*every, *feature_columns(lambda: self.campaign)],
            rank=lambda i: trouble_rank(i, over=self.host.status.over),
            id="instances",
        )
        instances.own_order = "trouble first"
        yield Horizontal(
            Vertical(
                HostTabs(),
                instances,
                HostTable(lambda: self.host.status),
                InstanceStrip(),
                ClosingCard(),
                EventList(),
                id="left",
            ),
            Aside(),
            id="lower",
        )

    @property
    def instances(self) -> BigTable[Instance]:
        """The instance table."""
        return self.query_one("#instances", BigTable)

    @property
    def hosts(self) -> HostTable:
        """The table of hosts."""
        return self.query_one(HostTable)

    @property
    def _on_hosts(self) -> bool:
        return self.has_class("-on-hosts")

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
            self._charts_due = True
            if changes.reset or changes.findings or self.host.mode == "replay":
                self._show_charts(state)
            self._show_totals(self.host.status)
        self.instances.show_empty(
            "no instance" if state.state in ENDED else "waiting for the first instance…"
        )
        if changes.reset:
            self.instances.rows.narrow("", self._is_shown)
            self.instances.load(state.instances)
            self._fit_instances(state)
        elif changes.instances:
            self.instances.touch(changes.instances)
            self._fit_instances(state)
            self._show_current()
        if changes.reset or changes.campaign or changes.instances:
            self._show_hosts(self.host.status, reset=changes.reset)
        if changes.records or changes.reset:
            self._show_events()
        self._show_aside(changes)

    def _show_events(self) -> None:
        status, events = self.host.status, self.query_one(EventList)
        ended = status.over and status.mode == "live"
        if ended if self._tells_story is None else self._tells_story:
            events.show_story(self.host.story)
        else:
            events.show(self.campaign)

    def do_overview_story(self) -> None:
        """Show the story in place of the latest events, or these again."""
        events = self.query_one(EventList)
        self._tells_story = not events.is_story
        self.host.when_free(self._show_events)
        self.set_focus(events if self._tells_story else self.instances)

    def do_overview_gain(self, by: int) -> None:
        """Show the largest gain in the story; from a gain, the one that is ``by`` ranks smaller."""
        self._tells_story = True
        self.set_focus(self.query_one(EventList))
        self.host.when_free(lambda: self._show_gain(by))

    def _show_gain(self, by: int) -> None:
        self._show_events()
        if not self.query_one(EventList).go_to_gain(by):
            self.notify("The story has no other gain.", timeout=2)

    def _show_aside(self, changes: Changes) -> None:
        aside = self.query_one(Aside)
        aside.note(changes)
        if self.has_class("-vast") and aside.is_due(self.host.status.now, changes):
            aside.show(self.campaign, self.host.status)

    def tick(self, status: Status) -> None:
        """Update ages."""
        super().tick(status)
        self._show_totals(status)
        events = self.query_one(EventList)
        events.advise(status.advice)
        events.show_loading(loading=status.caught_up < 1)
        if status.mode == "live":  # in a replay the timeline shows them
            key = BY_ID["overview.gain"].key_label(self.host.action_context())
            events.heat(Gains.of(self.campaign, named=False), status.now, f"{key} gains ".lstrip())
        self._close(status)
        if self.query_one(ClosingCard).display:  # another screen may have been shown at the end
            self.call_after_refresh(self._make_room)
        # Only rows whose ages have changed: a fleet may have a hundred.
        now = {id: ages(i, status) for id, i in list(self.campaign.instances.items())}
        self.instances.touch(id for id, words in now.items() if words != self._ages.get(id))
        self._ages = now
        self._show_hosts(status)
        self._hide_ages(status)
        self._show_current()
        self.host.when_free(lambda: self._show_aside(Changes()))

    def _close(self, status: Status) -> None:
        """Show the closing card once a campaign has ended."""
        state = self.campaign
        ended = status.over and status.mode == "live"
        if (closed := state.seq if ended else 0) == self._closed_seq:
            return
        self._closed_seq = closed
        rows = closing_rows(state, status, self.host.run_dir) if ended else []
        self.query_one(ClosingCard).show(closing_title(status.state, status.reason), rows)
        self._show_events()
        self._lay_out(state)

    def _make_room(self) -> None:
        """Hide the charts of a low terminal if the closing card leaves no room for events."""
        card, left = self.query_one(ClosingCard), self.query_one("#left")
        crowded = False
        if card.display and self.has_class("-short") and not self.has_class("-fleet"):
            own = (EventList, BigTable)
            others = (w for w in left.children if w.display and not isinstance(w, own))
            used = sum(w.outer_size.height for w in others)
            used += 1 + max(1, len(self.instances.rows))
            used += CHART_ROWS if self.has_class("-crowded") else 0
            crowded = left.size.height - used < EVENT_ROWS
        self.set_class(crowded, "-crowded")

    def _hide_ages(self, status: Status) -> None:
        """Hide the column of ages some time after the last age was shown, or at the end."""
        if any(age_cell(i, status)[0] for i in list(self.campaign.instances.values())):
            self._last_age_t = status.now
        elif self._last_age_t >= 0 and (
            status.over or abs(status.now - self._last_age_t) >= CALM_S
        ):
            self._last_age_t = -1.0
            self.instances.remeasure("age")

    def _is_shown(self, instance: Instance) -> bool:
        """Whether the table of instances has a row for ``instance``.

        Instances that have fuzzed a mutant and ended are on the screen of mutants.
        """
        return bool(present([instance])) and self._host in ("", instance.host)

    def _show_hosts(self, status: Status, *, reset: bool = False) -> None:
        if status.hosts or reset:
            self.hosts.show_hosts(status, reset=reset)
            self.query_one(HostTabs).show(status, len(self.instances.rows), self._host)
        if not status.hosts and self._on_hosts:  # a replay has gone back to the start
            self._turn(to_hosts=False)

    def _turn(self, *, to_hosts: bool, host: str = "") -> None:
        """Show the table of hosts, or of instances: of ``host`` if it is not empty."""
        self.set_class(to_hosts, "-on-hosts")
        self.query_one(HostTabs).turn(to_second=to_hosts)
        if host != self._host:
            self._host = host
            self.instances.narrow("", self._is_shown)
        self._show_hosts(self.host.status)
        if self.may_take_focus:
            self.set_focus(self.hosts if to_hosts else self.instances)
        self._show_current()
        self.host.refresh_footer()

    def do_overview_hosts(self) -> None:
        """Switch between the table of instances and the one of hosts."""
        self._turn(to_hosts=not self._on_hosts)

    def _show_current(self) -> None:
        strip = self.query_one(InstanceStrip)
        if self._on_hosts:
            if (there := self.hosts.current) is None:
                strip.show_facts([])
            else:
                facts = host_facts(there, self.host.status)
                strip.show_facts([fact("", there.name, "bold"), *facts])
            return
        strip.show(self.instances.current, self.campaign, self.host.status)

    def _show_totals(self, status: Status) -> None:
        self.query_one(Tiles).show(status)
        self.query_one(Targets).show(status)
        for line in self.query(OverviewLine):
            line.show(status)

    def _lay_out(self, state: State) -> None:
        """Set the classes of this kind of campaign."""
        before = self.classes
        self.set_class(state.engine == AFL, "-afl", update=False)
        self.set_class(bool(state.hosts), "-hosts", update=False)
        self.set_class(bool(self.host.status.targets), "-targets", update=False)
        roomy = self.size.height >= ROOMY and not self.query_one(ClosingCard).display
        self.set_class(roomy, "-roomy", update=False)
        if self.classes != before:
            self.update_node_styles()  # of all widgets: once

    def _fit_instances(self, state: State) -> None:
        there = present(state.instances.values())
        over = len(state.instances) - len(there)
        many = max(len(there), len(state.hosts))  # both tables get the same room
        if not any(i.mutant for i in there):
            self.instances.remeasure("mutant")
        self.instances.set_caption(*((f"+{over:,} ended", f"+{over:,}") if over else ()))
        fleet = many > (MAX_ON_HOSTS if state.hosts else MAX_INSTANCES)
        if fleet != self.has_class("-fleet"):
            self.set_class(fleet, "-fleet")
            self.redraw_charts()
            self.instances.styles.height = self.hosts.styles.height = None  # the style sheet's
        if not fleet:
            height = 1 + max(1, many)
            old = self.instances.styles.height
            if old is None or old.value != height:
                self.instances.styles.height = self.hosts.styles.height = height

    def _show_due_charts(self) -> None:
        if self._charts_due and self.is_current:
            self.host.when_free(lambda: self._show_charts(self.campaign))

    def _show_charts(self, state: State) -> None:
        self._charts_due = False
        charts = self.query_one(ChartGrid)
        if charts.display:
            charts.show(state, self.host.status, *self._room_for_charts(), self.host.ghost)

    def _room_for_charts(self) -> tuple[int, int]:
        """Return columns and rows of charts."""
        fleet, tall = self.has_class("-fleet"), self.has_class("-tall")
        if self.has_class("-narrow"):
            columns = 1
        elif self.has_class("-vast") or (fleet and self.has_class("-wide")):
            columns = 3
        else:
            columns = 2
        return columns, 2 if tall and not fleet else 1

    def redraw_charts(self) -> None:
        """Draw the charts again, when the layout is done and the state may be read."""
        self.call_after_refresh(self.host.when_free, lambda: self._show_charts(self.campaign))

    def do_overview_arrows(self) -> None:
        """Notify the user of the key that focuses the charts, where arrow keys have an effect."""
        key = BY_ID["focus.next"].key_label(self.host.action_context())
        text = f"{key} to the charts first: there ← and → move a cursor with values."
        if self.query_one(ChartGrid).display:
            self.notify(plain(text), timeout=4)

    def do_overview_charts(self) -> None:
        """Show the next charts; after the last ones the closing card that had hidden them."""
        charts = self.query_one(ChartGrid)
        if not self._uncover_charts() and charts.turn(1) and self._closed_seq:
            self.query_one(ClosingCard).display = True
            self.call_after_refresh(self._make_room)
        self.redraw_charts()

    def _uncover_charts(self) -> bool:
        """Show the charts if the closing card has hidden them. Returns whether it had."""
        if not (hidden := self.has_class("-crowded")):
            return False
        self.query_one(ClosingCard).display = False
        self._make_room()
        return hidden

    @on(ChartGrid.Turned)
    def _turned(self) -> None:
        self.redraw_charts()

    def do_overview_ghost(self) -> None:
        """Show or hide the curves of an earlier run."""
        self._uncover_charts()
        self.host.choose(GHOST_HIDDEN, GHOST_HIDDEN not in self.host.choices)
        if GHOST_HIDDEN not in self.host.choices and self.host.ghost is None:
            self.host.compare_with("")
        self.redraw_charts()

    def do_overview_ghost_of(self) -> None:
        """Ask for the run whose curves are drawn in addition."""
        self._uncover_charts()
        question = "The directory of a run, whose curves are drawn as thin lines:"
        self.app.push_screen(AskScreen("Compare", question, "runs/NAME"), self.host.compare_with)

    def do_overview_window(self) -> None:
        """Show the next window of time."""
        self._uncover_charts()
        self.query_one(ChartGrid).next_window()
        self.redraw_charts()

    # ---------------------------------------------------------- instances

    def _mutant_of(self, instance: Instance) -> str:
        mutant = self.campaign.mutants.get(instance.mutant)
        return instance.mutant if mutant is None else brief_place(mutant)

    def _series_of(self, name: str) -> Series | None:
        return self.campaign.instance_series.get(name)

    def _pending_of(self, instance: str) -> list[str]:
        return self._pending.get(instance, [])

    def describe_row(self) -> ActionContext:
        """Return the context of the instance or host under the cursor."""
        instance = None if self._on_hosts else self.instances.current
        now = row_context(instance)
        if self._on_hosts:
            # A host can be named in the place of an instance, for all of its instances.
            there = self.hosts.current
            campaign = there.host.campaign if there is not None else ""
            name = there.name if there is not None and campaign in ("running", "paused") else ""
            if there is not None and there.host.state == "failed":  # it can be tried again
                name, campaign = there.name, "failed"
            capabilities: frozenset[str] = frozenset()
            now = ActionContext(
                row=True, instance=name, instance_state=campaign, capabilities=capabilities
            )
        elif instance is not None and is_passive(instance):
            now = ActionContext(row=True)  # a passive instance cannot be steered
        return replace(now, on_hosts=self._on_hosts)

    def do_instance_pause(self) -> None:
        """Pause or resume one instance, or all instances of a host."""
        row = self.describe_row()
        if row.instance and (
            row.instance_state == "paused" or (row.on_hosts and row.instance_state == "failed")
        ):
            self.host.steer(Resume(row.instance), f"resume {row.instance}")
        elif row.instance:
            self.host.steer(Pause(row.instance), f"pause {row.instance}")

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

    @on(BigTable.Selected, "#hosts")
    def _entered(self, event: BigTable.Selected) -> None:
        """Show the instances of the host."""
        if self.may_take_focus and event.key:
            self._turn(to_hosts=False, host=event.key)

    @on(BigTable.Selected, "#instances")
    def _opened(self, event: BigTable.Selected) -> None:
        if not self.may_take_focus:
            return
        key = event.key or ""

        def look() -> list[Line]:
            instance = self.campaign.instances.get(key)
            facts = whole(instance, self.campaign, self.host.status) if instance else []
            return lines_of(facts)

        self.app.push_screen(BoxScreen("Instance", look, 1.0, "-low"))

    def on_resize(self) -> None:
        """Fit charts into the new size."""
        self._lay_out(self.campaign)
        self.redraw_charts()
        self.call_after_refresh(self._make_room)
        self.call_after_refresh(self.host.when_free, lambda: self._show_aside(Changes()))
