"""Home's lower part: what the run under the cursor is, before it is opened."""

from __future__ import annotations

import os
import threading

import pytest
from home_lab import opened, picture_of, until
from home_runs import make_run

from fuzztui.kernel import session
from fuzztui.kernel.log.files import SEALED
from fuzztui.run.home.look import RunLook
from fuzztui.tui.base.chart import Chart
from fuzztui.tui.screens.home import preview
from fuzztui.tui.screens.home.preview import RunPreview, read_preview


def text(shown) -> str:
    return "\n".join(f"{name} {words}" for name, words, _ in shown.rows)


def looked(run) -> RunLook:
    look = RunLook(run)
    while not look.look(5.0):
        pass
    return look


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_run_under_the_cursor_has_its_result_its_story_and_its_edges(runs, size):
    async with opened(runs, size=size) as (app, pilot):
        await until(pilot, lambda: "running at 0:00:03: 300 execs" in picture_of(app))
        await pilot.press("j", "j")
        await until(pilot, lambda: "interrupted at 0:00:03" in picture_of(app))
        await pilot.press("j")
        await until(pilot, lambda: "finished: why" in picture_of(app))
        shown = picture_of(app)
        assert "began; 10 edges in the" in shown
        assert "findings" in shown, "of the closing card"
        (curve,) = app.query_one(RunPreview).query_one(Chart)._graph.curves
        assert curve.values[-1] == 30
        await pilot.press("G")
        await until(pilot, lambda: "cannot be read: " in picture_of(app))


async def test_a_low_terminal_and_runs_side_by_side_have_none(runs):
    async with opened(runs, size=(80, 19)) as (app, pilot):
        assert not app.query_one(RunPreview).display
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "running at" in picture_of(app))
        await pilot.press("v")
        assert not app.query_one(RunPreview).display
        await pilot.press("escape")
        assert app.query_one(RunPreview).display


async def test_many_runs_keep_their_table(at_home, tmp_path):
    for n in range(30):
        make_run(tmp_path / "runs" / f"r{n}", wall=1e9 + n)
    async with opened(tmp_path / "runs") as (app, pilot):
        await until(pilot, lambda: "finished: why" in picture_of(app))
        assert app.query_one(RunPreview).size.height < app.table.size.height


async def test_keys_do_not_wait_for_a_preview(runs, monkeypatch):
    free = threading.Event()

    def slow(look, last):
        free.wait()
        return read_preview(look, last)

    monkeypatch.setattr("fuzztui.tui.screens.home.looks.read_preview", slow)
    async with opened(runs) as (app, pilot):
        try:
            await pilot.press("j", "j")
            assert app._current.path.name == "cut"
            assert "reading the log" in picture_of(app)
        finally:
            free.set()
        await until(pilot, lambda: "reading the log" not in picture_of(app))


def test_a_torn_log_says_so(tmp_path):
    run = make_run(tmp_path / "run", finds=1)
    (file,) = (run / "log").glob("*.jsonl*")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) * 2 // 3])
    assert "is damaged, so that numbers are lower bounds" in text(read_preview(looked(run), None))


def test_a_fifo_in_place_of_a_log_says_so(tmp_path):
    run = make_run(tmp_path / "run")
    (run / "log" / SEALED).unlink()
    os.mkfifo(run / "log" / SEALED)
    assert "cannot be read: " in text(read_preview(looked(run), None))


def test_a_log_that_cannot_be_read_any_more_says_so(tmp_path):
    run = make_run(tmp_path / "run")
    look = looked(run)
    (run / "log" / SEALED).unlink()
    (run / "log" / SEALED).mkdir()
    assert "cannot be read: " in text(read_preview(look, None))


def test_of_a_long_log_only_what_is_at_hand_is_read(tmp_path, monkeypatch):
    run = make_run(tmp_path / "run", stats=9)
    look = looked(run)
    monkeypatch.setattr(session, "LONG", 5)
    monkeypatch.setattr(session, "POLL_RECORDS", 3)
    monkeypatch.setattr(session, "BATCH", 3)
    shown = read_preview(look, None)
    assert [(name, words) for name, words, _ in shown.rows] == [
        ("log", "is long: 9 records are not read for this preview"),
        ("state", "finished at 0:00:11: 900 execs"),
    ]
    assert not shown.growth.curves, "it would end in the middle"
    assert read_preview(look, shown) is shown, "it is not read again"


def test_of_very_many_entries_no_story_is_told(tmp_path, monkeypatch):
    look = looked(make_run(tmp_path / "run", finds=1))
    assert "finished: why" in text(read_preview(look, None))
    monkeypatch.setattr(preview, "MAX_ROWS", 0)
    assert "finished: why" not in text(read_preview(look, None))


def test_an_ended_run_is_read_once(tmp_path):
    look, other = looked(make_run(tmp_path / "run")), looked(make_run(tmp_path / "other"))
    first = read_preview(look, None)
    assert read_preview(look, first) is first
    assert read_preview(other, first).run == other.run
    assert first.over, "so that its chart ends with the campaign"
    make_run(tmp_path / "run", stats=9)
    assert read_preview(look, first).now > first.now
