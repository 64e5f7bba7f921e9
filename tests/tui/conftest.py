"""Pilots over made-up campaigns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes import Log, World, running, world
from home_lab import some_runs
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual._compositor import Compositor
from textual._context import active_app
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.widget import Widget
from waiting import DEADLINE_S, until

from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.commands import Command
from fuzztui.run.home import listing
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.frame.steered import PendingCommands
from fuzztui.tui.frame.table import BigTable

THREAD = "fuzztui-work"
"""Name of the threads that look things up for screens: ``fuzztui.tui.base.background``."""


async def settled(*_args: float, **_kwargs: float) -> None:
    """Until no widget has anything to do: what a pilot waits for, without its 20 ms steps.

    Nor while the log is read, as what was asked for meanwhile is shown after that. Other
    threads are not waited for: that is what :meth:`Driver.until` is for.
    """
    app = active_app.get()
    quiet = 0
    while quiet < 3:
        feed = getattr(app, "_feed", None)
        # Who is left in the middle of a poll does not say that it has ended.
        while feed is not None and feed._lent and app.is_running and not app._exit:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        nodes = [app, *(n for screen in app.screen_stack for n in screen.walk_children())]
        nodes += app.screen_stack
        busy = any(not n._closed and n._running and n.message_queue_size for n in nodes)
        # A footer that is composed again holds the layout back; the end of an application, too.
        busy = busy or bool(app._batch_count and app.is_running and not app._exit)
        quiet = 0 if busy else quiet + 1
    await asyncio.sleep(0.001)


@pytest.fixture(autouse=True)
def _patient_notices(monkeypatch):
    """A notice of two seconds is gone before a busy machine comes to look."""
    monkeypatch.setattr(Notification, "time_left", 1000.0)


@pytest.fixture(autouse=True)
def _whole_looks(monkeypatch):
    """A look at the runs reads all of them, however long a busy machine takes for it."""
    monkeypatch.setattr("fuzztui.tui.screens.home.looks.READ_S", DEADLINE_S)
    monkeypatch.setattr("fuzztui.tui.screens.home.looks.LIVE_S", DEADLINE_S)


@pytest.fixture(autouse=True)
def _quick_pilots(monkeypatch):
    monkeypatch.setattr("textual.pilot.wait_for_idle", settled)
    monkeypatch.setattr("textual.app.wait_for_idle", settled)


@pytest.fixture(autouse=True)
def _unicode(monkeypatch):
    """Whatever the locale of the machine."""
    monkeypatch.setenv("FUZZTUI_ASCII", "0")


_parsed: dict[object, list[RuleSet]] = {}
_sheets: dict[object, tuple[list[RuleSet], dict[str, list[RuleSet]]]] = {}
_parse_rules, _parse = Stylesheet._parse_rules, Stylesheet.parse


def _parse_rules_once(sheet: Stylesheet, *args: object, **keys: object) -> list[RuleSet]:
    """The same rules with the same colours are parsed for the first application only."""
    key = (*args, *sorted(keys.items()), *sheet._variables.items())
    if key not in _parsed:
        _parsed[key] = _parse_rules(sheet, *args, **keys)  # type: ignore[arg-type]
    return _parsed[key]


def _parse_once(sheet: Stylesheet) -> None:
    """The same sheet is put together and indexed for the first application only."""
    key = (*sheet.source.items(), *sheet._variables.items())
    if key not in _sheets:
        _parse(sheet)
        _sheets[key] = sheet.rules, sheet.rules_map
    sheet._rules, sheet._rules_map = _sheets[key]
    sheet._require_parse = False


@pytest.fixture(autouse=True)
def _quick_styles(monkeypatch):
    monkeypatch.setattr(Stylesheet, "_parse_rules", _parse_rules_once)
    monkeypatch.setattr(Stylesheet, "parse", _parse_once)


class NothingKept:
    """A cache that stays empty."""

    def get(self, key: object) -> None:
        return None

    def __setitem__(self, key: object, value: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _quick_strips(monkeypatch):
    """A strip makes seven caches, a fifth of the time that tests of the screen take."""
    nothing = NothingKept()
    monkeypatch.setattr("textual.strip.FIFOCache", lambda size: nothing)


_render_update = Compositor.render_update


def _draw_only(compositor: Compositor, full: bool = False, *args: object, **keys: object) -> object:
    """Have the widgets of a frame draw themselves, as before; join their lines for pictures only.

    Without a terminal Textual throws the joined lines away: a tenth of the time of these tests.
    """
    if full:  # a picture that is exported
        return _render_update(compositor, full, *args, **keys)  # type: ignore[arg-type]
    draw = compositor._get_renders
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compositor, "_render_chops", lambda crop, _: [*draw(crop)][:0])
        _render_update(compositor, full, *args, **keys)  # type: ignore[arg-type]
    return None


@pytest.fixture(autouse=True)
def _quick_frames(monkeypatch):
    monkeypatch.setattr(Compositor, "render_update", _draw_only)


@pytest.fixture
def whole_frames(monkeypatch, _quick_frames):
    """Frames with their lines joined, for tests that look at what is sent to a terminal."""
    monkeypatch.setattr(Compositor, "render_update", _render_update)


def texts(lines: Iterable[Iterable[TextSpan]]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


@dataclass
class Driver:
    """A pilot with a world."""

    world: World
    pilot: Pilot

    @property
    def app(self):
        return self.world.app

    @property
    def screen(self) -> CampaignScreen:
        screen = self.app.screen
        assert isinstance(screen, CampaignScreen)
        return screen

    @property
    def table(self) -> BigTable:
        return self.screen.query_one(BigTable)

    @property
    def log(self) -> Log:
        return self.world.log

    @property
    def commands(self) -> list[Command]:
        """What the application has sent to the supervisor."""
        return self.world.supervisor.commands

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        await self.pilot.pause()  # a key may have changed the layout, which is drawn when idle

    async def until(self, condition: Callable[[], object]) -> None:
        """Let the application work until ``condition`` holds."""

        def holds() -> object:
            if held := condition():
                return held
            if self.app.failure is not None:  # nothing will change any more
                raise self.app.failure
            if self.app._feed is not None:
                self.app._feed.nudge()
            return held

        await until(holds, lambda: f"the screen\n{self.text()}")

    async def ready(self) -> None:
        """The whole log was taken in, which happens in a thread, and has reached the screen."""
        session = self.world.session  # a seek gives it another state
        await self.until(lambda: session.state.seq == self.expected())
        await self.until(lambda: session.state.state == "empty" or self.app._present)
        await self.until(lambda: session.state.state == "empty" or "EMPTY" not in self.text())
        self.app.tick()  # the totals may be those of the state before
        await self.pilot.pause()

    async def still(self) -> None:
        """The picture does not change any more: the same in 15 looks while no thread works.

        The loop's timers that are due come before each look, so a busy machine changes nothing.
        """
        before, same = "", 0
        while same < 15:
            await asyncio.sleep(0.01)
            if any(thread.name == THREAD for thread in threading.enumerate()):
                continue
            now = self.text()
            same = same + 1 if now == before else 0
            before = now

    def expected(self) -> int:
        clock = self.world.clock
        records = self.world.log.records
        return sum(clock is None or r.t <= clock.now() for r in records)

    def lines(self) -> list[str]:
        """What the terminal shows, as text."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def text(self) -> str:
        return "\n".join(self.lines())

    def painted(self, widget: type[Widget]) -> list[str]:
        """The lines of a strip or a chart, as text."""
        found = self.screen.query_one(widget)
        return texts(found.paint(found.size.width, found.size.height))

    def details(self) -> str:
        """What the pane says, before it is wrapped."""
        return "\n".join(texts(self.screen.pane.lines))

    def row_keys(self, table: BigTable | None = None) -> list[str]:
        """Keys of the rows as a table shows them."""
        source = (table or self.table).source
        return [source.key(i) for i in range(len(source))]

    def notices(self) -> list[str]:
        return [n.message for n in self.app._notifications]

    def assert_shows(self, *texts: str) -> None:
        shown = self.text()
        missing = [text for text in texts if text not in shown]
        assert not missing, f"{missing} missing on the screen\n{shown}"

    def assert_lacks(self, *texts: str) -> None:
        shown = self.text()
        present = [text for text in texts if text in shown]
        assert not present, f"{present} on the screen\n{shown}"

    def assert_notice(self, part: str) -> None:
        assert any(part in notice for notice in self.notices()), self.notices()

    async def until_shows(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.text() for text in texts))

    async def until_lacks(self, *texts: str) -> None:
        await self.until(lambda: all(text not in self.text() for text in texts))

    async def until_notice(self, part: str) -> None:
        await self.until(lambda: any(part in notice for notice in self.notices()))

    async def until_sent(self, *commands: Command, after: int = 0) -> None:
        """These commands, and no others, were sent after the first ``after`` ones."""
        await self.until(lambda: len(self.commands) >= after + len(commands))
        assert self.commands[after:] == [*commands]


@pytest.fixture
def drive(tmp_path: Path):
    """``async with drive(log, ...) as d``: an application under a pilot.

    After the keys ``press``, with the cursor on a ``row``, once it ``shows`` a text.
    """

    @asynccontextmanager
    async def start(
        log, *, size=(120, 40), wait=True, toasts=False, press=(), row="", shows="", **options
    ) -> AsyncIterator[Driver]:
        w = world(log, options.pop("run", tmp_path), **options)
        async with w.app.run_test(size=size, notifications=toasts) as pilot:
            driver = Driver(w, pilot)
            if wait:
                await driver.ready()
            if press:
                await driver.press(*press)
            if row:
                assert driver.table.go_to(row)
            if shows:
                await driver.until_shows(shows)
            yield driver

    return start


@pytest.fixture
def never_settles(monkeypatch):
    """Steps wait for the next one for ever."""
    ask = PendingCommands.add
    monkeypatch.setattr(
        PendingCommands, "add", lambda self, wishes, _=0.0: ask(self, wishes, 3600.0)
    )


@pytest.fixture
def recorded(monkeypatch):
    """What was given to the process that records verdicts after the end: runs and commands."""
    given = []

    async def record(run, command):
        given.append((run, command))
        return True, "recorded"

    for screen in ("findings.screen.screen", "mutants.screen.steering"):
        monkeypatch.setattr(f"fuzztui.features.{screen}.record_verdict", record)
    return given


@pytest.fixture
def run(tmp_path):
    """A directory of a run with the log of two minutes."""
    (tmp_path / "supervisor").mkdir()
    writer = LogWriter(tmp_path / "log")
    for record in running(120).records:
        writer.append(record.event, record.t)
    writer.close()
    return tmp_path


@pytest.fixture
def at_home(monkeypatch, tmp_path):
    """A home without runs or a cache of whoever runs the tests."""
    monkeypatch.setattr(listing, "supervised_runs", list)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def runs(at_home, tmp_path):
    with some_runs(tmp_path / "runs") as place:
        yield place


class TextFile(SingleFileSnapshotExtension):
    """One readable file for each picture."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def picture(snapshot):
    return snapshot.use_extension(TextFile)
