"""Keys that come in one burst (a paste, a slow line) are done with one after the other."""

import threading

import pytest
from aimed import aimed
from fakes import FakeSession, running
from mixed import mixed
from mutated import mutated
from textual import events
from textual.containers import Vertical
from textual.keys import _character_to_key
from textual.widgets import Input

from fuzztui.kernel.model.fold import apply
from fuzztui.tui.base.dialogs import AskScreen, ConfirmScreen, Dialog
from fuzztui.tui.base.filterbar import FilterBar

pytestmark = pytest.mark.slow


def burst(app, *keys):
    """As a driver sends what one read has brought: nothing is done in between."""
    for key in keys:
        char = key if len(key) == 1 else None
        app.post_message(events.Key(_character_to_key(char) if char else key, char))


async def commands(d):
    await d.still()
    return [c.name for c in d.commands]


@pytest.mark.parametrize("tab", ["2", "3", "5"])
async def test_all_that_follows_the_slash_is_the_filter(drive, tab):
    async with drive(running(), press=[tab]) as d:
        burst(d.app, *"/skipped s/x")
        await d.until(lambda: d.screen.query_one(FilterBar).text == "skipped s/x")
        assert await commands(d) == []
        assert isinstance(d.app.focused, Input)
        assert "waiting for" not in d.text()


async def test_screen_and_filter_in_one_burst(drive):
    async with drive(running()) as d:
        burst(d.app, *"2/second/1")
        await d.until(lambda: isinstance(d.app.focused, Input))
        assert d.screen.TAB == "corpus"
        await d.until(lambda: d.screen.query_one(FilterBar).text == "second/1")
        assert await commands(d) == []


async def test_what_is_typed_is_corrected_in_its_order(drive):
    async with drive(running(), press="2") as d:
        burst(d.app, *"/ab", "backspace", "c", "left", "d")
        await d.until(lambda: d.screen.query_one(FilterBar).text == "adc")


async def test_after_escape_keys_are_commands_again(drive):
    async with drive(running(), press="2") as d:
        burst(d.app, *"/ab", "escape", "p")
        await d.until(lambda: d.commands)
        assert await commands(d) == ["pause"]
        assert d.screen.query_one(FilterBar).text == ""


async def test_the_answer_to_a_question(drive):
    async with drive(mutated(), press="4ff") as d:
        await d.until(lambda: d.table.current and d.table.current.state == "alive")
        burst(d.app, "equals_sign", *"dup/px")
        await d.until(lambda: isinstance(d.app.screen, AskScreen))
        await d.until(lambda: [i.value for i in d.app.screen.query(Input)] == ["dup/px"])
        assert await commands(d) == []


async def test_what_follows_a_stop_is_no_command_of_the_screen_below(drive):
    async with drive(running(), press="2") as d:
        burst(d.app, *"xdpu")
        await d.until(lambda: isinstance(d.app.screen, ConfirmScreen))
        assert await commands(d) == []


@pytest.mark.parametrize("keys", [("x",), ("3", "V")])
@pytest.mark.parametrize("size", [(80, 24), (140, 50)])
async def test_a_dialog_is_as_high_as_its_text(drive, keys, size):
    async with drive(running(), size=size, press=keys) as d:
        await d.until(lambda: isinstance(d.app.screen, Dialog))
        await d.pilot.pause()
        box = d.app.screen.query_one(Vertical)
        last = max(child.region.bottom for child in box.children)
        assert box.children and box.content_region.bottom - last <= 1


ANSWERS = {
    "a theme": (running, "T", "j", "enter", "q"),
    "an order": (running, "2", "s", "j", "enter", "escape"),
    "no to a question": (running, "x", "enter", "n"),
    "a reason": (mutated, "4", "f", "f", "equals_sign", "d", "enter", "escape"),
    "mutants of a group": (mutated, "4", "m", "escape", "escape"),
}
"""Keys that open a dialog, answer, and would answer again."""


@pytest.mark.parametrize("case", ANSWERS)
async def test_the_first_answer_to_a_dialog_counts(drive, case):
    campaign, *keys = ANSWERS[case]
    async with drive(campaign(), theme="daylight") as d:
        *opening, first, second = keys
        await d.press(*opening)
        assert isinstance(d.app.screen, Dialog)
        burst(d.app, first, second)
        await d.until(lambda: not isinstance(d.app.screen, Dialog))
        if case == "a theme":
            await d.until(lambda: d.world.themes)
            assert d.app.theme == d.world.themes[-1] != "daylight"
        await d.press("1")
        assert d.screen.TAB == "overview"


async def test_what_is_said_again_is_shown_once(drive):
    async with drive(running(), control=False, press="2ddddd") as d:
        assert d.notices() == ["Skip: opened for viewing only"]


WORLDS = {"4": mutated, "6": mixed, "7": aimed}
"""Made-up campaigns in which the screen has rows; the others do in any."""

MOVES = {
    "details": ["enter"],
    "and back": ["enter", "escape"],
    "another filter": [*"/ab", "escape"],
    "a filter kept": [*"/a", "enter"],
    "left with down": ["slash", "down"],
}
"""Keys that give the focus to something else."""


@pytest.mark.parametrize(
    ("tab", "move"), [("2", move) for move in MOVES] + [(tab, "details") for tab in "34567"]
)
async def test_what_gives_the_focus_away_does_not_take_it_from_the_filter(drive, tab, move):
    async with drive(WORLDS.get(tab, running)(), press=[tab]) as d:
        burst(d.app, *MOVES[move], "slash", *"bx dq")
        await d.still()
        assert isinstance(d.app.focused, Input)
        assert d.screen.query_one(FilterBar).text.endswith("bx dq")
        assert await commands(d) == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("keys", ["t", "tt", "ttt"])
async def test_from_table_to_table_and_into_the_filter(drive, size, keys):
    async with drive(aimed(), size=size, press="7") as d:
        burst(d.app, *keys, "slash", *"bx dq")
        await d.still()
        assert isinstance(d.app.focused, Input)
        assert d.screen.query_one(FilterBar).text == "bx dq"
        assert await commands(d) == []
        burst(d.app, "enter", "j")
        await d.still()
        assert d.app.focused is (d.screen.targets if len(keys) % 2 else d.screen.types)


@pytest.mark.parametrize("key", ["t", "tab"])
async def test_the_other_table_has_the_very_next_key(drive, key):
    async with drive(aimed(), press="7") as d:
        burst(d.app, key, "d")
        await d.until(lambda: d.commands)
        assert await commands(d) == ["ignore-target"]


async def test_a_box_that_opens_late_does_not_open_over_a_filter(drive):
    async with drive(running()) as d:
        burst(d.app, "enter", "2", "slash", *"bx dq")
        await d.still()
        assert d.app.screen is d.screen
        assert d.screen.query_one(FilterBar).text == "bx dq"
        assert await commands(d) == []


async def test_a_menu_that_waits_for_the_log_does_not_open_over_a_filter(drive, monkeypatch):
    async with drive(mutated(), press="4") as d:
        late = []
        monkeypatch.setattr(d.app, "when_free", late.append)
        await d.press("m", "slash")
        monkeypatch.undo()
        for look in late:
            look()
        await d.press("b")
        assert isinstance(d.app.focused, Input)
        assert d.screen.query_one(FilterBar).text == "b"


@pytest.mark.parametrize("alive", [True, False])
async def test_while_the_log_is_read_the_past_is_not_shown_as_present_and_keys_are_kept(
    drive, monkeypatch, alive
):
    read = threading.Event()

    def poll(session):
        """Half of the log, until the rest is to come."""
        session.behind = not read.wait(0.01)
        end = len(session.log.records) // (1 + session.behind)
        return apply(session.state, session.log.records[session.state.seq : end])

    monkeypatch.setattr(FakeSession, "poll", poll)
    async with drive(running(), wait=False, alive=alive) as d:
        assert "EMPTY" not in d.text()
        await d.until(lambda: d.app.status.state != "empty")
        await d.until(lambda: "CATCHING UP" in d.text() and d.app._alive is alive)
        await d.pilot.pause()
        assert "RUNNING" not in d.text()
        assert "SUPERVISOR" not in d.text().upper()
        assert "0:0" not in d.lines()[1]  # no time of the past
        burst(d.app, *"2d/second")
        await d.until(lambda: d.screen.TAB == "corpus")  # needs no rows
        await d.until(lambda: len(d.app._typed) == 8)
        assert d.screen.query_one(FilterBar).text == ""
        assert await commands(d) == []
        read.set()
        await d.until(lambda: d.screen.query_one(FilterBar).text == "second")
        await d.until_lacks("CATCHING UP")
        await d.until(lambda: ("NO SUPERVISOR" in d.text()) is not alive)
        assert await commands(d) == ["skip"] * alive
