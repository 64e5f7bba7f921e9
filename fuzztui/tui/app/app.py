"""The application: one state, its screens, one registry of actions.

Changes arrive through the :class:`~fuzztui.tui.app.feed.Feed`; every key calls
:meth:`FuzzApp.perform`. Nothing in here or below reads a file in the event loop.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from textual import events
from textual.app import SuspendNotSupported
from textual.binding import BindingType
from textual.worker import WorkType

from fuzztui.kernel.base.text import several
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.finding_tallies import FindingTally, tallies
from fuzztui.kernel.model.host_summary import waiting_commands
from fuzztui.kernel.model.mutants import Summary, mutants_summary
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Changes, CommandStatus, State
from fuzztui.kernel.model.story import Moment, story
from fuzztui.kernel.session import Session
from fuzztui.tui.app.attention import MAX_TEXT, Attention, alert_sequence, announcement
from fuzztui.tui.app.config import Config
from fuzztui.tui.app.feed import BACK_OFF_S, Feed, default_hz
from fuzztui.tui.app.find import FindScreen, campaign_objects
from fuzztui.tui.app.kept_yields import KeptYields
from fuzztui.tui.app.replay import Outline, Player, ReplayControls
from fuzztui.tui.app.run_commands import RunCommands
from fuzztui.tui.app.tour import OFFER, TOURED, TourScreen
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.editor import NoEditor, edit_copy, edit_file
from fuzztui.tui.base.other_run import NotOpened, open_run
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themes import ThemeFile
from fuzztui.tui.base.user_state import NO_LOOK, Look, ViewOptions
from fuzztui.tui.frame.action_context import ActionContext, with_keys
from fuzztui.tui.frame.actions import ACTIONS, BY_ID, bindings
from fuzztui.tui.frame.banner import Banner
from fuzztui.tui.frame.command_sender import REMEMBER, CommandSender
from fuzztui.tui.frame.feature_screens import absent_screens, feature_screens
from fuzztui.tui.frame.footer import Footer
from fuzztui.tui.frame.ghost import GHOST_HIDDEN, Ghost
from fuzztui.tui.frame.header import FINDINGS
from fuzztui.tui.frame.host import T, Tracker
from fuzztui.tui.frame.keymap import RESERVED
from fuzztui.tui.frame.marks import Marks
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.timeline import Timeline
from fuzztui.tui.labels import hosts, instances
from fuzztui.tui.labels.lineage import Lineage
from fuzztui.tui.labels.status import Status, status_of
from fuzztui.tui.screens.log.screen import LogScreen
from fuzztui.tui.screens.overview.screen import OverviewScreen

EVERYTHING = Changes(campaign=True, reset=True)

SCREENS: tuple[type[CampaignScreen], ...] = (OverviewScreen, LogScreen, *feature_screens())

NO_ZOOM = "The table shows all of its rows already; {focus.next:tab} goes to another panel"

ALIVE_S = 2.0
"""Seconds between checks whether the supervisor is alive."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open a campaign. All callables may block: they are called in threads."""

    session: Callable[[], Session]
    reader: Callable[[], LogReader]
    run: Path | None = None
    mode: str = "live"
    player: Player | None = None
    """The controls of the clock; None: not a replay."""
    ghost: Callable[[str], Ghost | None] = lambda _: None
    """Returns the run with a path to compare with, or for "" the earlier one of the same target."""
    outline: Callable[[], Outline] = Outline
    """Returns the outline of the whole campaign, for a replay."""
    running: Callable[[], int | None] = lambda: None
    """Returns the process id of the living supervisor; None: no supervisor."""
    unwritten: Callable[[], str] = lambda: ""
    """Returns what the living supervisor cannot write into its log; "" means no problem."""
    died: Callable[[], str] = lambda: ""
    """Returns why the watcher of someone else's campaign ended; an empty string while it lives."""
    steering: CommandSender | None = None
    """Sends the user's commands; None: none can be sent."""
    read_only: str = ""
    """Why no commands are sent although they could be; an empty string: they are."""
    remote: bool = False
    """Whether the run is on another machine."""
    come_back: str = ""
    """The command line that shows the campaign again."""
    go_on: str = ""
    """The command line that resumes the campaign without a supervisor."""
    past: Callable[[CommandStatus | None], State] = lambda _: State()
    """Returns the campaign's state before a command; None: its present state. For an undo."""
    config: Config = field(default_factory=Config)
    """The user's configuration."""
    remember: Callable[[str], None] = lambda _: None
    """Stores the name of the theme that the user has chosen."""
    choices: ViewOptions = field(default_factory=ViewOptions)
    """What the user has opened or switched on."""
    tour: bool = False
    """Whether to offer a tour, if the user was never offered one."""
    last_look: Callable[[], Look] = lambda: NO_LOOK
    """Returns the user's last look at the findings."""
    remember_look: Callable[[Look], None] = lambda _: None
    """Stores a look."""
    hz: float = field(default_factory=default_hz)
    monotonic: Callable[[], float] = time.monotonic


class FuzzApp(RunCommands, ReplayControls):
    """The terminal monitor and controller."""

    TITLE = "fuzztui"
    MODES: ClassVar[dict[str, Any]] = {screen.TAB: screen for screen in SCREENS}
    DEFAULT_MODE = "overview"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app"), *bindings("always")]

    def __init__(
        self,
        opening: Opening,
        themes: Mapping[str, ThemeFile],
        theme: str,
        problems: Iterable[str] = (),
    ) -> None:
        super().__init__(themes, theme, opening.config, opening.remember, problems)
        self._opening = opening
        self.mode = opening.mode
        self.player = opening.player
        self.run_dir = opening.run
        self.steering = opening.steering
        self._in_turn = asyncio.Lock()
        self.choices = opening.choices
        self.session: Session | None = None
        self.status = Status(mode=opening.mode, caught_up=float(opening.mode == "replay"))
        self._empty = State()
        self.lineage = Lineage(lambda: self.campaign)
        self._tracked: dict[Any, Tracker] = {}
        self._feed: Feed | None = None
        self._unseen_changes = dict.fromkeys(self.MODES, EVERYTHING)
        self._feed_problem = ""
        self._moved = (0.0, opening.monotonic())
        """The log's latest campaign time, and the monotonic time when it was first seen."""
        self._requested_rows: dict[str, str] = {}
        self._last_kill_t = -1.0
        self._found: Mapping[str, FindingTally] = {}
        self._mutants: Summary | None = None
        self._yields = KeptYields()
        self._attention = Attention()
        self._unseen = 0
        self._alive: bool | None = None
        self._unwritten = ""
        self.reconnections = 0
        self._dead = ""
        """Why the watcher of someone else's campaign ended; an empty string while it runs."""
        self._outline = Outline()
        self._ghost: Ghost | None = None
        self._present = self.mode == "replay"
        """Whether the screens have shown the end of the log: until then they show the past."""
        self._typed: list[events.Key] = []
        """Keys for the present, typed before."""

    # --------------------------------------------------------------- start

    def on_mount(self) -> None:
        """Open the log and start polling."""
        self.report_problems()
        self.set_class(self.mode == "replay", "-replay")
        # After the first frame: a thread that restores a large state would delay it.
        self.call_after_refresh(self._start)
        self.set_interval(1.0, self.tick)
        if self.mode == "live" and self.run_dir is not None:
            self.run_worker(self._watch(), group="watch")
        elif self.watched:
            self.run_worker(self._watch_watcher(), group="watch")

    def _start(self) -> None:
        self.run_worker(self._open(), group="open")

    def tracked(self, kind: Callable[[Callable[[], State]], T]) -> T:
        """Return the application's object of a class, which takes all changes from now on."""
        if kind not in self._tracked:
            self._tracked[kind] = kind(lambda: self.campaign)
        return cast(T, self._tracked[kind])

    def choose(self, name: str, on: bool) -> None:
        """Switch one of the choices on or off, also for the next use of the screens."""
        self.choices.set(name, on)
        self.run_worker(self._remember_choices(), group=REMEMBER)

    async def _remember_choices(self) -> None:
        async with self._remembering:
            await in_thread(self.choices.store)

    async def _open(self) -> None:
        while self.session is None:
            try:
                opened = await in_thread(
                    lambda: (self._opening.last_look(), self._opening.session())
                )
                self._attention.last_look, self.session = opened
            except Exception as e:  # for example no log yet; any error is shown
                self.on_trouble(str(e) or type(e).__name__)
                await asyncio.sleep(BACK_OFF_S / 4)
        self.on_trouble("")
        self._feed = Feed(self.session, self, self._opening.hz)
        if self.mode == "replay":
            self.run_worker(self._load_outline(), group="outline")
        self.run_worker(self._feed.run(), group="feed")

    @property
    def marks(self) -> Marks:
        """The marks of the whole replayed campaign."""
        return self._outline.course.marks

    async def _load_outline(self) -> None:
        try:
            self._outline = await in_thread(self._opening.outline)
        except Exception as e:  # the replay works without marks
            self.notify(plain(f"The timeline has no marks: {e}"))
        if self.player is not None:
            self.player.kind = self.marks.first_kind()
        self.tick()

    @property
    def story(self) -> Sequence[Moment]:
        """The moments of the campaign, in a replay of all of it. Call it while it is not folded."""
        return self._outline.story if self.player is not None else story(self.campaign)

    @property
    def ghost(self) -> Ghost | None:
        """The run whose curves are drawn for comparison; None: there is none, or it is hidden."""
        return None if GHOST_HIDDEN in self.choices else self._ghost

    async def _load_ghost(self, run: str) -> None:
        try:
            self._ghost = await in_thread(lambda: self._opening.ghost(run))
        except Exception as e:  # without it the charts are as useful
            if run:
                self.notify(plain(f"{run}: {e}"), severity="warning", timeout=8)
            return
        if isinstance(screen := self._drawn_screen, OverviewScreen):
            screen.redraw_charts()

    def compare_with(self, run: str | None) -> None:
        """Draw the curves of the run with that path, too; None: keep those that are drawn."""
        if run is not None:
            self.choose(GHOST_HIDDEN, False)
            self.run_worker(self._load_ghost(run), group="ghost", exclusive=True)

    async def _watch(self) -> None:
        while True:
            alive, unwritten = await in_thread(self._check_supervisor)
            if (alive, unwritten) != (self._alive, self._unwritten):
                self.reconnections += bool(self._unwritten and not unwritten)
                self._alive, self._unwritten = alive, unwritten
                self.tick()
            await asyncio.sleep(ALIVE_S)

    def _check_supervisor(self) -> tuple[bool, str]:
        try:
            return self._opening.running() is not None, self._opening.unwritten()
        except OSError:
            return False, ""

    async def _watch_watcher(self) -> None:
        while not self._dead:
            await asyncio.sleep(ALIVE_S)
            self._dead = self._opening.died()
        if not self._present:  # what was read until then
            self.on_present()
        self.when_free(lambda: self.on_changes(Changes()))

    # ------------------------------------------------------------- changes

    @property
    def campaign(self) -> State:
        """The state; an empty one until the log is open."""
        return self._empty if self.session is None else self.session.state

    def when_free(self, look: Callable[[], None]) -> None:
        """Call ``look`` as soon as no other thread changes the state, unless the app ends before.

        While it ends, Textual removes the widgets before it cancels the worker that calls ``look``.
        """
        if self._feed is None:
            look()
        else:
            self._feed.when_free(lambda: look() if self.is_running else None)

    def on_changes(self, changes: Changes) -> None:
        """Show changes on the current screen, and collect them for the other screens."""
        self._note_kills(changes)
        self._note_findings(changes)
        self._mutants = mutants_summary(self.campaign)  # not each second: there may be 100,000
        self.lineage.take(changes)
        for tracker in self._tracked.values():
            tracker.take(changes)
        self.notify_answers(changes)
        self._update_status()
        for tab, missed in self._unseen_changes.items():
            self._unseen_changes[tab] = missed | changes
        if (screen := self._drawn_screen) is not None:
            if not self._unsettled:
                screen.show(self.take_changes(screen.TAB))
            screen.tick(self.status)
            self.draw_frame()

    def _note_findings(self, changes: Changes) -> None:
        if changes.reset or changes.findings or changes.instances:
            self._found = tallies(self.campaign)
        if changes.reset or changes.findings:
            self._note_unseen()
            # What the log contained already when it was opened is no news.
            behind = self.session is not None and self.session.behind
            if changes.reset or behind or self.status.caught_up < 1:
                self._attention.skip(self.campaign)
            else:
                self._announce()

    def _note_unseen(self) -> None:
        """Count the groups that the user has not seen; the Findings screen counts as seeing all."""
        if self.current_mode == FINDINGS and self._attention.look(self.campaign):
            # A coroutine is made by the worker: one that is cancelled unstarted is never awaited.
            store: WorkType[None] = self._remember_look
            self.run_worker(store, group=REMEMBER)
        self._unseen = self._attention.unseen(self.campaign) if self.mode == "live" else 0
        self.status = replace(self.status, unseen=self._unseen)

    async def _remember_look(self) -> None:
        look = self._attention.last_look
        async with self._remembering:  # in the order of the looks
            await in_thread(partial(self._opening.remember_look, look))

    def _announce(self) -> None:
        """Announce new groups of findings: on the screen, by bell, and on the user's desktop."""
        if self.mode != "live" or not (found := self._attention.news(self.campaign, self.now())):
            return
        title, text = announcement(found, self.campaign)
        self.notify(text, title=title, severity="error", timeout=15)
        name = plain(f"{self.campaign.name}: {title}", MAX_TEXT)
        file = self._config.file
        self.alert(alert_sequence(name, text, os.environ, bell=file.bell, desktop=file.desktop))

    def _note_kills(self, changes: Changes) -> None:
        mutants = self.campaign.mutants
        if changes.reset:
            self._last_kill_t = max((m.killed_t for m in mutants.values()), default=-1.0)
        for key in changes.mutants & mutants.keys():  # a pragma excludes the others since
            self._last_kill_t = max(self._last_kill_t, mutants[key].killed_t)

    def nudge(self) -> None:
        """Poll now: the log may have new records."""
        if self._feed is not None:
            self._feed.nudge()

    def on_present(self) -> None:
        """Note that the screens show the present, and carry out what was typed for it."""
        self._present = True
        if GHOST_HIDDEN not in self.choices:
            self.run_worker(self._load_ghost(""), group="ghost")
        self.call_later(self._press_typed)
        self.tick()
        self._offer_tour()

    def _offer_tour(self) -> None:
        """Offer the tour once, by a notification that goes by itself and takes no key.

        A dialog would stop a user who came for the campaign, and hide it. Nothing is offered over
        results, nor to those who only look on, in a replay or a browser.
        """
        wanted = self._opening.tour and self._config.file.tour and TOURED not in self.choices
        runs = self.mode == "live" and self.campaign.state not in ENDED
        if wanted and runs and not (self.is_web or self._opening.read_only):
            self.choose(TOURED, True)
            self.notify(with_keys(OFFER, self.action_context()), timeout=15)

    def do_app_tour(self) -> None:
        """Explain the Overview, which has the parts that the tour names."""
        self.switch_mode(self.DEFAULT_MODE)
        self.call_after_refresh(lambda: self.push_screen(TourScreen(self.action_context())))

    def on_trouble(self, problem: str) -> None:
        """Show that the log cannot be read; ``problem`` is empty when it is readable again."""
        self._feed_problem = problem
        if problem:
            self.call_later(self._press_typed)
        self.tick()

    async def _press(self, event: events.Key) -> None:
        """Keep keys that are typed while the log is read, because their rows are not there yet.

        :meth:`on_present` carries them out. Keys that need no row have their effect at once, and
        so have all keys if the log is too long to wait for.
        """
        if event.key not in RESERVED and (self._typed or self._is_early(event.key)):
            self._typed.append(event)
        else:
            await super()._press(event)

    def _is_early(self, key: str) -> bool:
        if self._present or self._feed_problem or self.screen is not self._campaign_screen:
            return False
        if self.session is not None and self.session.is_long:
            return False
        general = (a for a in ACTIONS if a.scope == "always" or a.id.startswith("view."))
        return not any(key in self._config.keys.get(a.id, a.keys) for a in general)

    async def _press_typed(self) -> None:
        while self._typed:
            await super()._press(self._typed.pop(0))

    def take_changes(self, tab: str) -> Changes:
        """Return and clear the changes since the screen ``tab`` was last shown.

        None until they are settled.
        """
        if self._unsettled:
            return Changes()
        changes, self._unseen_changes[tab] = self._unseen_changes[tab], Changes()
        if tab == FINDINGS:
            self._note_unseen()
        return changes

    def do_app_find(self) -> None:
        """Search all objects of the campaign."""
        self.when_free(self._find)

    def _find(self) -> None:
        self.push_screen(FindScreen([*campaign_objects(self.campaign)]))

    def do_app_zoom(self) -> None:
        """Let the panel with the focus fill the screen, or show all panels again."""
        screen = self.screen
        if screen.maximized is not None:
            screen.minimize()
        elif isinstance(of := screen.focused, BigTable) and len(of.in_view) == len(of.source):
            self.notify(with_keys(NO_ZOOM, self.action_context()), timeout=4)
        elif screen.focused is not None:
            screen.maximize(screen.focused, container=False)

    def go_to_row(self, tab: str, key: str) -> None:
        """Go to the screen ``tab``, to the row with ``key``."""
        self._requested_rows[tab] = key
        self.switch_mode(tab)

    def take_requested_row(self, tab: str) -> str:
        """Return and clear the row that :meth:`go_to_row` requested; "" if there is none."""
        return self._requested_rows.pop(tab, "")

    def tick(self) -> None:
        """Update clocks and ages; called once per second."""
        self.when_free(self._tick)

    def _tick(self) -> None:
        if self._attention.waiting:
            self._announce()
        self._update_status()
        if (screen := self._drawn_screen) is not None:
            screen.tick(self.status)
            self.draw_frame()

    @property
    def _unsettled(self) -> bool:
        """Whether a watcher still reads the past: nothing but how far it is must be shown."""
        return self.watched and not self._dead and self.campaign.caught_up < 1

    def _update_status(self) -> None:
        now, alive = self.now(), False if self._dead else self._alive
        if self._unsettled:
            c = self.campaign
            self.status = Status(c.name, c.engine, c.target, watched=True, caught_up=c.caught_up)
            return
        self.status = status_of(
            self.campaign,
            now,
            self.mode,
            alive,
            self._last_kill_t,
            watched=self.watched,
            ended=self._outline.ended,
            end_t=self.end_t,
            found=self._found,
            mutants=self._mutants,
            yields=self._yields.of(self.campaign),
            unseen=self._unseen,
            absent=absent_screens(self.campaign),
            caught_up=self._caught_up(),
        )

    def _caught_up(self) -> float:
        if self._present or self._feed_problem:
            return 1.0
        return 0.0 if self.session is None else self.campaign.seq / max(1, self.session.end_seq)

    def draw_frame(self) -> None:
        """Draw banner, footer and timeline of the current screen."""
        if (screen := self._drawn_screen) is None:
            return
        screen.query_one(Banner).show(self._problem_texts(), [*self.said.values()])
        self.refresh_footer()
        if self.player is not None:
            self.player.hold_at(self.end_t)
            screen.query_one(Timeline).show(self.player.position(self.end_t), self._outline.course)

    def _problem_texts(self) -> list[str]:
        troubles = []
        if self._feed_problem:
            troubles.append(f"{self._feed_problem}  (trying again)")
        if self._unwritten:
            troubles.append(self._unwritten)
        if self.session is not None and self.session.is_long:
            done = f"{self.campaign.seq:,} of {several(self.session.end_seq, 'record')}"
            troubles.append(f"Reading the log: {done}; all numbers are incomplete until the end")
        if self.session is not None and (problems := self.session.problems):
            many = f"{several(len(problems), 'problem')}, listed when you leave"
            what = "all numbers are lower bounds" if self.campaign.seq else "no record can be read"
            troubles.append(f"The log is damaged: {what} ({many})")
        elif lost := self.campaign.lost:
            troubles.append(f"{several(lost, 'log record')} lost: all numbers are lower bounds")
        if self._dead:
            troubles.append(f"The watcher has ended, nothing is updated any more: {self._dead}")
        elif self.status.orphaned:
            how = f"Resume with: {self._opening.go_on}" if self._opening.go_on else ""
            what = "No supervisor is running; all entries and findings are kept."
            if self.status.hosts:
                what = "No hub is running; the hosts continue without it."
            troubles.append(f"{what} {how}")
        elif self.status.state == "failed":
            # Tables and the event list cut the reason, which is the most important text now.
            every = instances.present(self.campaign.instances.values())
            troubles += instances.failure(self.status.reason, every)
        elif not self.status.over:
            troubles += filter(None, [hosts.host_warning(self.status)])
            troubles += filter(None, [hosts.waiting_text(waiting_commands(self.campaign))])
            bad = instances.trouble(instances.present(self.campaign.instances.values()))
            troubles += [bad] if bad else []
        return troubles

    def now(self) -> float:
        """Return the campaign time: the replay's, or the log's latest plus the time since then.

        Uses the monotonic clock: neither a wall clock that is set nor a suspended machine adds
        campaign time.
        """
        state = self.campaign
        if self.player is not None:
            return min(self.player.now(), self.end_t)
        now = self._opening.monotonic()
        if state.t != self._moved[0]:
            self._moved = (state.t, now)
        every = state.instances.values()
        ended = state.state == "stopping" and all(i.state in ENDED for i in every)
        if self.status.over or ended or self._alive is False or self._dead:
            return state.t
        return state.t + now - self._moved[1]

    @property
    def end_t(self) -> float:
        """Campaign time of the last record, in seconds."""
        return 0.0 if self.session is None else self.session.end_t

    def seek(self, t: float) -> None:
        """In a replay: show the campaign as it was at ``t`` seconds."""
        if self.player is not None and self._feed is not None:
            self._feed.seek(self.player.jump(t, self.end_t))
            self.tick()

    @property
    def _campaign_screen(self) -> CampaignScreen | None:
        """The screen of the current mode, even below a dialog; None while the app ends."""
        bottom = self.bottom_screen
        return bottom if isinstance(bottom, CampaignScreen) else None

    @property
    def _drawn_screen(self) -> CampaignScreen | None:
        """The screen of the current mode; None until its widgets are mounted."""
        screen = self._campaign_screen
        return screen if screen is not None and screen.is_mounted else None

    # ------------------------------------------------------------- actions

    @property
    def watched(self) -> bool:
        """Whether this is a watched campaign of someone else, without a run directory."""
        opening = self._opening
        return opening.mode == "live" and opening.run is None and opening.steering is None

    def action_context(self) -> ActionContext:
        """Return which actions are possible now, including those of the row under the cursor."""
        here = self._drawn_screen
        row = ActionContext() if here is None else here.describe_row()
        return replace(
            row,
            marked=0 if here is None else here.marked,
            mode=self.mode,
            state=self.campaign.state,
            engine=self.campaign.engine,
            stage=self.campaign.stage,
            absent={} if self.status.state == "empty" else self.status.absent,
            hosts=bool(self.status.hosts),
            control=self._opening.steering is not None,
            read_only=self._opening.read_only,
            remote=self._opening.remote,
            browser=self.is_web,
            undo=self.why_not_undo(),
            watched=self.watched,
            has_run=self.run_dir is not None,
            alive=self._alive,
            keys=self._config.keys,
            paused_replay=self.player is not None and not self.player.playing,
        )

    def scopes(self) -> Sequence[str]:
        """Return the scopes of the actions that the screen has now."""
        screen = self._campaign_screen
        return screen.scopes() if screen else ("app", "always")

    def column_meanings(self) -> Sequence[tuple[str, str]]:
        """Return titles and meanings of the columns on the screen, for the help."""
        screen = self._campaign_screen
        return screen.column_meanings() if screen else ()

    def leave(self) -> None:
        """Called when the user leaves."""
        screen = self._campaign_screen
        if screen is not None:
            screen.leave()

    def refresh_footer(self) -> None:
        """Draw the footer again."""
        if (screen := self._drawn_screen) is not None:
            screen.query_one(Footer).show(self.action_context())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable an action of the other mode if the present mode has one with the same key."""
        if action != "perform":
            return super().check_action(action, parameters)
        wanted = BY_ID[str(parameters[0])]
        return wanted.mode in ("", self.mode) or not any(
            a.mode == self.mode and a.scope == "app" and set(a.keys) & set(wanted.keys)
            for a in ACTIONS
        )

    def say(self, text: str) -> None:
        """Show a short notification; ``text`` may be untrusted."""
        self.notify(plain(text), timeout=2)

    def copy(self, text: str, what: str) -> None:
        """Copy ``text`` through the terminal (OSC 52), which works over SSH too."""
        self.copy_to_clipboard(text)
        self.notify(plain(text), title=f"Copied the {what}", timeout=6)

    def edit_file(self, path: Path, line: int = 0) -> None:
        """Open a file in the user's editor. The screen continues when the editor ends."""
        self._edit(partial(edit_file, path=path, line=line))

    def edit_copy(self, name: str, data: bytes) -> None:
        """Open a copy of an input in the user's editor."""
        self._edit(partial(edit_copy, name=name, data=data))

    def open_run(self, run: Path) -> None:
        """Show another run until the user leaves it."""
        self._edit(partial(open_run, run=run))

    def _edit(self, edit: Callable[..., None]) -> None:
        try:
            edit(self.suspend(), os.environ)
        except (NoEditor, NotOpened, SuspendNotSupported) as e:
            text = str(e) or "this terminal cannot be given to another program"
            self.notify(plain(text), severity="warning", timeout=8)
        self.refresh()

    def past(self, command: CommandStatus | None) -> State:
        """Return the state before a command; None: the present one, as a copy. Blocking."""
        return self._opening.past(command)

    def open_reader(self) -> LogReader:
        """Return a new reader of the campaign's log. Blocking."""
        return self._opening.reader()

    def do_view(self, tab: str) -> None:
        """Show a screen."""
        self.switch_mode(tab)
