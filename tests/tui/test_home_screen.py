"""The home screen: the table of runs, runs side by side, what its keys do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from home_lab import home, opened, picture_of, read, until
from home_runs import make_run
from random_logs import EVIL, random_log
from rich.cells import cell_len
from rich.console import Console
from test_ink import invisible
from textual.containers import Vertical

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Stop
from fuzztui.run.home.summary import RunSummary, summary_of
from fuzztui.tui.app import home as home_module
from fuzztui.tui.app.help import HelpScreen
from fuzztui.tui.app.home import INIT, HomeView
from fuzztui.tui.base.chart import Chart
from fuzztui.tui.base.dialogs import ConfirmScreen, ListScreen
from fuzztui.tui.base.themed import LeanUpdate
from fuzztui.tui.labels.runs import RunRow, columns, detail
from fuzztui.tui.screens.home.lines import HomeDetail
from fuzztui.tui.screens.home.panes import PaneHead, RunPane, pane_content, room_for

SIZES = [(80, 24), (120, 40), (220, 60)]


@pytest.mark.parametrize("size", SIZES)
async def test_running_ones_are_on_top_and_the_broken_one_says_why(runs, size):
    async with opened(runs, size=size) as (app, pilot):
        rows = [*app._seen.rows.values()]
        assert [r.path.name for r in rows[:4]] == ["one", "two", "cut", "ended"]
        states = [r.summary.state for r in rows]
        assert states == ["running", "running", "interrupted", "finished", "unreadable"]
        assert rows[3].new == 2 and rows[0].supervised and rows[4].summary.reason
        await pilot.press("G")
        assert app.query_one(HomeDetail)._row == rows[4]
        assert "unreadable" in picture_of(app)


async def test_enter_chooses_the_live_screen_or_the_replay(runs):
    for keys, name, ended in ((["enter"], "one", False), (["j", "j", "j", "enter"], "ended", True)):
        async with opened(runs) as (app, pilot):
            await pilot.press(*keys)
        assert (app.choice, app.choice_ended) == (runs / name, ended)


async def test_the_cursor_is_on_the_run_that_was_shown(runs):
    async with opened(runs, view=HomeView(at=runs / "ended")) as (app, pilot):
        assert app.table.cursor == str(runs / "ended")
        await pilot.press("q")
    assert app.choice is None and app.return_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_running_ones_side_by_side(runs, size):
    async with opened(runs, size=size) as (app, pilot):
        await pilot.press("v")
        await until(pilot, lambda: len(app._seen.panes) == 2)
        panes = [pane for pane in app.query(RunPane) if pane.display]
        assert len(panes) == 2
        assert all(pane.query_one(Chart)._graph.curves[0].times for pane in panes)
        beside = panes[0].region.y == panes[1].region.y
        assert beside == (size[0] >= 100)
        assert all(pane.region.bottom < size[1] for pane in panes)
        await pilot.press("escape")
        assert not app._beside
        await pilot.press("v")
        await until(pilot, lambda: len(app._seen.panes) == 2)
        await pilot.press("3")
        assert app.choice is None
        await pilot.press("2")
    assert app.choice == runs / "two" and not app.choice_ended


async def test_marked_ones_are_side_by_side(runs):
    async with opened(runs) as (app, pilot):
        await pilot.press("j", "space", "v")
        await until(pilot, lambda: app._seen.panes)
        assert [content.row.path.name for content in app._seen.panes] == ["two"]
        await pilot.press("escape", "escape", "G", "space", "v")
        assert not app._beside, "what has ended is not live"


async def test_stop_asks_first_and_only_what_runs(runs):
    async with opened(runs) as (app, pilot):
        sender = app._opening.sender
        await pilot.press("x")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("n")
        assert sender.sent == []
        await pilot.press("x", "y")
        await until(pilot, lambda: sender.sent)
        assert sender.sent == [(runs / "one", Stop())]
        await pilot.press("G", "x")
        assert not isinstance(app.screen, ConfirmScreen)


async def test_a_sample_is_started_as_a_new_run(runs):
    async with opened(runs) as (app, pilot):
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: app.started)
        assert app.started == [["a-zest.toml", "--new"]]


async def test_resume_starts_the_runs_own_file(runs):
    (runs / "cut/campaign.toml").touch()
    async with opened(runs) as (app, pilot):
        await pilot.press("r")
        assert not isinstance(app.screen, ConfirmScreen), "it runs"
        await pilot.press("j", "j", "r", "y")
        await until(pilot, lambda: app.started)
        assert app.started == [[str(runs / "cut/campaign.toml")]]


async def test_a_start_that_fails_is_told(runs):
    async with opened(runs, start=lambda argv: f"{argv[0]}:3: wrong {EVIL}") as (app, pilot):
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: any(n.severity == "error" for n in app._notifications))
        (error,) = (n for n in app._notifications if n.severity == "error")
        assert "a-zest.toml:3" in error.message and "\x1b" not in error.message


async def test_a_campaign_of_ones_own(runs):
    async with opened(runs) as (app, pilot):
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        await pilot.press("enter")
        await pilot.pause()
        assert app.choice == INIT


async def test_help_has_each_column(runs):
    async with opened(runs, size=(120, 50)) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        text = picture_of(app)
        assert all(column.title in text and column.id in app.table.meanings for column in columns())
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)


async def test_no_runs(at_home, tmp_path):
    app = home(tmp_path / "runs")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.table.empty)
        assert "press n" in picture_of(app)
        await pilot.press("enter", "x", "r", "v")
        assert app.choice is None and app.screen is app.screen_stack[0]


def test_no_log_makes_a_row_or_a_pane_fail(tmp_path):
    for seed in range(30):
        state = State()
        apply(state, random_log(seed))
        row = RunRow(tmp_path / "r", EVIL, summary_of(state, supervised=True), True, EVIL, 3, "1m")
        lines = detail(row, 80)
        head = PaneHead()
        head._row = pane_content(row, state).row
        for line in [*lines, *head.paint(80, 3)]:
            assert all(span.text.isprintable() for span in line)
        for column in columns():
            column.cell(row)


@pytest.mark.parametrize("name", ["n" * 200, "漢字" * 60, EVIL, "[bold]x[/]", "a b"])
def test_a_hostile_name_neither_hides_its_end_nor_the_path(tmp_path, name):
    row = RunRow(Path(name), f"runs/{name}-7", RunSummary("interrupted", name=name), False, "", 0,
                 "1m")  # fmt: skip
    (run,) = (column for column in columns() if column.id == "run")
    cut = run.cut(row.shown, 20)
    assert cell_len(cut) <= 20 and cut.endswith("-7") and cut.isprintable()
    first, second = detail(row, 80)
    text = "".join(span.text for span in first)
    assert cell_len(text) <= 80 and text.endswith("-7") and text.isprintable()
    assert any(span.style == "pending" for span in second), "why it is interrupted"


async def test_a_question_is_a_small_box_over_the_table(runs):
    async with opened(runs) as (app, pilot):
        await pilot.press("x")
        box = app.screen.query_one(Vertical)
        assert box.size.height < 12
        await until(pilot, lambda: "runs/two" in picture_of(app))


@pytest.mark.slow
async def test_a_supervisor_that_is_killed(runs, tmp_path):
    make_run(tmp_path / "runs/three", wall=1e9 + 110, state="")
    code = (
        "import sys, time; from pathlib import Path\n"
        "from fuzztui.kernel.remote.lock import RunLock\n"
        "lock = RunLock(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / "runs/three")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        app = home(runs)
        async with app.run_test(size=(80, 24)) as pilot:
            key = str(tmp_path / "runs/three")
            await until(pilot, lambda: read(app) and app._seen.rows[key].supervised)
            await pilot.press("v")
            await until(pilot, lambda: app._seen.panes)
            holder.kill()
            holder.wait()
            await until(pilot, lambda: not app._seen.rows[key].supervised)
            assert app._seen.rows[key].summary.state == "interrupted"
            assert "interrupted" in picture_of(app), "its pane stays"
            await pilot.press("escape")
            await pilot.pause()
            assert app.table.source.row(key).summary.state == "interrupted"


async def test_a_run_that_is_deleted_while_it_is_shown(runs, monkeypatch):
    monkeypatch.setattr(home_module, "LOOK_S", 0.05)
    async with opened(runs) as (app, pilot):
        await pilot.press("space", "v")
        await until(pilot, lambda: app._seen.panes)
        shutil.rmtree(runs / "one")
        await until(pilot, lambda: not app._beside)
        assert str(runs / "one") not in app._seen.rows
        await until(pilot, lambda: app.table.has_focus)
        assert not app.table.marked_rows()


def test_how_many_panes_fit():
    assert [room_for(*size) for size in SIZES] == [2, 4, 4]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("keys", ["", "v"], ids=["table", "beside"])
async def test_pictures(runs, size, keys, picture):
    async with opened(runs, size=size) as (app, pilot):
        if keys:
            await pilot.press(keys)
            await until(pilot, lambda: app._seen.panes)
            await pilot.pause()
        else:
            await pilot.press("G")
            await until(pilot, lambda: "log        cannot be read" in picture_of(app))
        assert picture_of(app) == picture


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["midwatch", "daylight", "ansi"])
@pytest.mark.parametrize("no_color", [False, True], ids=["colours", "NO_COLOR"])
async def test_text_is_told_from_its_ground(runs, monkeypatch, theme, no_color):
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    app = home(runs)
    app.theme = theme
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: read(app))
        for key in ("G", "v", "escape", "question_mark"):
            await pilot.press(key)
            await pilot.pause()
            assert invisible(app, "truecolor") == ""


@pytest.mark.slow
async def test_everything_can_be_drawn_in_ascii(runs, monkeypatch):
    monkeypatch.setenv("FUZZTUI_ASCII", "1")
    async with opened(runs, size=(120, 40)) as (app, pilot):
        for key in ("G", "v", "escape", "question_mark"):
            await pilot.press(key)
            await pilot.pause()
            console = Console(color_system="truecolor", force_terminal=True)
            update = app.screen._compositor.render_full_update()
            assert LeanUpdate(update).render_segments(console).isascii()
