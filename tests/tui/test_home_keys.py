"""The keys of the home screen: rebound, shown, checked; marks, filter, order."""

from __future__ import annotations

from pathlib import Path

import pytest
from home_lab import home, opened, picture_of, read, until
from home_runs import make_run

from fuzztui.tui import screen_scopes
from fuzztui.tui.app import home as home_module
from fuzztui.tui.app.action_app import ThemeScreen
from fuzztui.tui.app.config import load_config
from fuzztui.tui.app.help import HelpScreen
from fuzztui.tui.app.home import HomeView
from fuzztui.tui.base.dialogs import ConfirmScreen
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.themes import load_themes
from fuzztui.tui.frame.actions import ACTIONS, BY_ID, HOME, HOME_SCREENS
from fuzztui.tui.frame.footer import Footer, actions_for


def configured(path: Path, text: str):
    file = path / "config.toml"
    file.write_text(text)
    return load_config(file, load_themes()[0], screen_scopes())


def names(app):
    rows = app.table.rows
    return [Path(rows.key(n)).name for n in range(len(rows))]


def footer(app):
    return picture_of(app).splitlines()[-1]


async def test_rebound_keys_work_and_are_shown(runs, tmp_path):
    config, problems = configured(
        tmp_path,
        "[keys]\nhome.stop = 'f5'\nhome.beside = []\napp.help = ['f1', '!']\n"
        "'table.down' = 'Y'\nhome.run_2 = 'b'\n",
    )
    assert problems == []
    async with opened(runs, config=config, size=(120, 40)) as (app, pilot):
        await pilot.press("x", "v")
        assert not isinstance(app.screen, ConfirmScreen) and not app._beside
        await pilot.press("Y")
        assert app._current.path.name == "two"
        assert "f5 Stop" in footer(app) and "Side by side" not in footer(app)
        await pilot.press("f5")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("n", "!")
        assert isinstance(app.screen, HelpScreen)
        lines = ["".join(span.text for span in line) for line in app.screen.lines()]
        (stop,) = (line for line in lines if BY_ID["home.stop"].help in line)
        assert stop.split()[0] == "f5"
        await pilot.press("escape")
        app.perform("home.beside")  # as the palette does
        await until(pilot, lambda: len(app._seen.panes) == 2)
        assert "b Run 2" in footer(app) and "3" not in footer(app)
        await pilot.press("2", "3")
        assert app.choice is None
        await pilot.press("b")
    assert app.choice == runs / "two"


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        ("home.stop = 'v'", "home.stop"),  # home.beside
        ("home.stop = 's'", "home.stop"),  # table.sort
        ("home.resume = '?'", "home.resume"),  # app.help
        ("table.filter = 'n'", "table.filter"),  # home.new
        ("home.run_1 = 'v'", "home.run_1"),
        ("home.stop = '2'", ""),  # the panes are not there with the table
        ("home.stop = 'r'\nhome.resume = 'x'", ""),
        ("home.stop = 'p'", ""),  # campaign.pause is on no home screen
        ("campaign.pause = 'v'\nhome.new = 'p'", "campaign.pause"),  # corpus.yields
    ],
)
def test_clashing_keys_are_refused(tmp_path, keys, wrong):
    config, problems = configured(tmp_path, f"[keys]\n{keys}\n")
    assert [p.split(": ")[1] for p in problems] == ([f"keys.{wrong}"] if wrong else [])
    assert wrong not in config.keys


async def test_a_wrong_configuration_is_reported(runs, tmp_path):
    config, problems = configured(tmp_path, "[keys]\nhome.stop = 'v'\n")
    async with opened(runs, config=config, problems=problems) as (app, pilot):
        (notice,) = app._notifications
        assert "home.stop" in notice.message
        await pilot.press("x")
        assert isinstance(app.screen, ConfirmScreen)


@pytest.mark.parametrize("beside", [False, True])
async def test_the_help_has_every_key_and_column_of_home_only(runs, beside):
    async with opened(runs, size=(120, 50)) as (app, pilot):
        if beside:
            await pilot.press("v")
        await pilot.press("question_mark")
        text = "\n".join("".join(s.text for s in line) for line in app.screen.lines())
        there = {scope for screen in HOME_SCREENS for scope in screen}
        for action in ACTIONS:
            assert (action.help in text) == (action.scope in there), action.id
        for column, meaning in app.table.meanings.items():
            assert meaning in text, column


def test_a_campaigns_help_has_no_key_of_home():
    from test_actions import READY, CorpusScreen, flat, help_sections

    lines = flat(help_sections(READY, CorpusScreen.scopes()))
    text = "\n".join("".join(s.text for s in line) for line in lines)
    assert not [a.id for a in HOME if a.help in text]


async def test_keys_that_cannot_be_used_are_grey_and_say_why(runs, monkeypatch):
    monkeypatch.setattr(home_module, "LOOK_S", 0.05)
    async with opened(runs, size=(120, 40)) as (app, pilot):
        now = app.action_context()
        assert not BY_ID["home.stop"].why_not(now) and BY_ID["home.resume"].why_not(now)
        assert "x Stop" in footer(app) and "Resume" not in footer(app)
        await pilot.press("r")
        assert any("under way" in n.message for n in app._notifications)
        for name in ("cut", "ended"):
            (runs / name / "campaign.toml").touch()
        await until(pilot, lambda: app._seen.rows[str(runs / "cut")].resumable)
        await pilot.press("G", "k", "k")
        assert "r Resume" in footer(app) and "Stop" not in footer(app)
        await pilot.press("j")
        assert "campaign.budget" in BY_ID["home.resume"].why_not(app.action_context())
        await pilot.press("G")
        now = app.action_context()
        assert BY_ID["home.stop"].why_not(now) and BY_ID["home.resume"].why_not(now)
        assert "(x Stop)" in footer(app) and "(r Resume)" in footer(app)


async def test_the_palette_offers_homes_actions_only(runs):
    async with opened(runs, size=(120, 40)) as (app, pilot):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Side by side" in picture_of(app))
        text = picture_of(app)
        assert "Overview" not in text and "Pause" not in text
        await pilot.press(*"side by side", "enter")
        await until(pilot, lambda: app._beside)


async def test_the_footer_is_clicked(runs):
    async with opened(runs, size=(120, 40)) as (app, pilot):
        at = footer(app).index("Side by side")
        await pilot.click(Footer, offset=(at, 0))
        await until(pilot, lambda: app._beside)
        await pilot.click(Footer, offset=(footer(app).index("Table"), 0))
        await until(pilot, lambda: not app._beside)


async def test_the_first_key_of_the_footer_opens(runs):
    async with opened(runs) as (app, _):
        assert actions_for(app.scopes(), app.action_context())[0].id == "table.select"


async def test_themes_are_chosen_with_a_preview_and_remembered(runs):
    kept = []
    async with opened(runs, remember=kept.append) as (app, pilot):
        await pilot.press("T")
        assert isinstance(app.screen, ThemeScreen)
        await pilot.press("j", "escape")
        assert app.theme == "midwatch" and kept == []
        await pilot.press("T", "j", "enter")
        await until(pilot, lambda: kept)
        assert kept == [app.theme] != ["midwatch"]


async def test_marked_campaigns_are_stopped_together(runs):
    async with opened(runs) as (app, pilot):
        await pilot.press("space", "space", "space", "x")  # one, two, and one that does not run
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("y")
        sender = app._opening.sender
        await until(pilot, lambda: len(sender.sent) == 2)
        assert [run.name for run, _ in sender.sent] == ["one", "two"]
        assert not app.table.marks


async def test_marked_runs_are_resumed_together(runs):
    make_run(runs / "cut-too", wall=1e9 + 40, state="")
    for name in ("cut", "cut-too", "ended"):
        (runs / name / "campaign.toml").touch()
    async with opened(runs) as (app, pilot):
        await pilot.press("space", "space", "space", "space", "space", "r", "y")
        await until(pilot, lambda: len(app.started) == 2)
        assert [Path(argv[0]).parent.name for argv in app.started] == ["cut", "cut-too"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("two", ["two"]),
        ("state=running", ["one", "two"]),
        ("engine=mu2", ["ended"]),
        ("groups>0", ["ended"]),
        ("state=interrupted zest", ["cut"]),
        ("nothing-like-it", []),
    ],
)
async def test_the_filter_narrows_by_name_state_and_engine(runs, text, left):
    async with opened(runs, size=(120, 40)) as (app, pilot):
        await pilot.press("slash", *text)
        await until(pilot, lambda: names(app) == left)
        assert f"{len(left)} of 5" in picture_of(app)
        assert left or "no run passes the filter" in picture_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(names(app)) == 5)


async def test_keys_are_typed_into_the_filter_and_wrong_conditions_are_reported(runs):
    async with opened(runs, size=(120, 40)) as (app, pilot):
        await pilot.press("slash", *"xnv=1")
        assert app.screen is app.screen_stack[0] and not app._beside
        await until(pilot, lambda: "no key 'xnv'" in picture_of(app))
        await pilot.press("enter", "j")
        assert app.query_one(FilterBar).text == "xnv=1", "the table has the keys again"


async def test_filter_order_and_cursor_are_there_again_after_a_run(runs):
    async with opened(runs) as (app, pilot):
        await pilot.press("slash", *"state!=running", "enter", "S")
        await until(pilot, lambda: names(app) == ["broken", "ended", "cut"])
        await pilot.press("k", "enter")
    assert app.choice == runs / "ended"
    again = home(runs, view=app.last_view)
    async with again.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: read(again) and names(again) == ["broken", "ended", "cut"])
        assert again._current.path.name == "ended"


async def test_what_was_side_by_side_is_again_unless_it_has_ended(runs):
    for beside, shown in ((["two"], ["two"]), (["ended", "two"], ["two"]), (["ended"], [])):
        view = HomeView(beside=[runs / name for name in beside])
        async with opened(runs, view=view, size=(120, 40)) as (app, pilot):
            await until(pilot, lambda app=app: not app._restored)
            assert [path.name for path in app._beside] == shown
            assert app.table.has_focus == (not shown)


async def test_the_users_columns_and_the_menu_of_orders(runs, tmp_path):
    config, problems = configured(tmp_path, "[columns]\nhome = ['engine', 'run', 'state']\n")
    assert problems == []
    async with opened(runs, config=config) as (app, pilot):
        assert [c.id for c, _ in app.table._layout.cells] == ["engine", "run", "state"]
        await pilot.press("s", *"run", "enter")
        assert names(app) == ["broken", "cut", "ended", "one", "two"]
        await pilot.press("S")
        assert names(app)[0] == "two"
