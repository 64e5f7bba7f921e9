"""Runs side by side: what they show, and how many bytes that costs while they grow."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from home_lab import until
from random_logs import EVIL
from rich.cells import cell_len
from rich.console import Console
from textual.app import ComposeResult

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import CampaignStarted, CampaignState, Record, Stats
from fuzztui.run.home.summary import summary_of
from fuzztui.tui.base import format
from fuzztui.tui.base.themed import ThemedApp, lean
from fuzztui.tui.base.themes import load_themes
from fuzztui.tui.labels.runs import RunRow
from fuzztui.tui.screens.home.panes import PaneHead, RunPane, RunPanes, pane_content

CONSOLE = Console(color_system="truecolor", force_terminal=True)


class Growing:
    """A campaign that grows: new statistics each second."""

    def __init__(self, n: int) -> None:
        self.n, self.seq, self.state = n, 0, State()
        self._apply(CampaignStarted("c", "zest", "t:f", 1, instances=["main"], wall=1e9), 0.0)
        self._apply(CampaignState("running"), 0.1)

    def _apply(self, event, t):
        self.seq += 1
        apply(self.state, [Record(self.seq, t, event)])

    def second(self, t: int):
        execs = 2000 * t + 37 * self.n * t % 97
        edges = int(1000 * t / (t + 90))
        speed = 2000.0 + 50 * ((execs + self.n) % 7)
        self._apply(
            Stats("main", execs, speed, edges // 3, edges=edges, edges_total=4000), float(t)
        )

    def content(self, *, ended: bool = False):
        summary = summary_of(self.state, supervised=not ended)
        row = RunRow(Path(f"/r/run{self.n}"), f"run{self.n}", summary, not ended, "", 0,
                     format.age(self.state.t))  # fmt: skip
        return pane_content(row, None if ended else self.state)


class Panes(ThemedApp):
    """Only the panes; counts what is sent to the terminal."""

    def __init__(self) -> None:
        super().__init__(load_themes()[0].values(), "midwatch")
        self.sent = 0

    def compose(self) -> ComposeResult:
        yield RunPanes()

    def _display(self, screen, renderable):
        if renderable is not None and hasattr(lean(renderable), "render_segments"):
            self.sent += len(lean(renderable).render_segments(CONSOLE).encode())
        super()._display(screen, renderable)


@pytest.mark.slow
@pytest.mark.usefixtures("whole_frames")
@pytest.mark.parametrize("start", [15, 120, 1000])
async def test_three_growing_campaigns_cost_few_bytes(start):
    runs = [Growing(n) for n in range(3)]
    app = Panes()
    async with app.run_test(size=(120, 40)) as pilot:
        before = 0
        for t in range(1, start + 60):
            for run in runs:
                run.second(t)
            if t < start - 5:
                continue
            app.query_one(RunPanes).show([run.content() for run in runs])
            await pilot.pause()
            before = before or (app.sent if t >= start else 0)
        assert before > 1000, "the first drawing"
        assert 60 < (app.sent - before) / 60 < 500


async def test_numbers_are_shown_at_once_and_charts_within_seconds():
    run = Growing(0)
    app = Panes()
    async with app.run_test(size=(120, 40)) as pilot:
        for t in range(1, 40):
            run.second(t)
            app.query_one(RunPanes).show([run.content()])
            await pilot.pause()
            head = "".join(s.text for s in app.query_one(PaneHead)._lines[1])
            assert format.count(run.state.instances["main"].stats.execs) in head
            drawn = app.query_one(RunPane).query("#growth").first()._view.now
            assert t - drawn < 10


async def test_a_run_that_ends_keeps_its_pane_and_its_charts():
    run = Growing(0)
    app = Panes()
    async with app.run_test(size=(120, 40)) as pilot:
        for t in range(1, 20):
            run.second(t)
        app.query_one(RunPanes).show([run.content()])
        await pilot.pause()
        run._apply(CampaignState("finished"), 20.0)
        app.query_one(RunPanes).show([run.content(ended=True)])
        await pilot.pause()
        head = "".join(s.text for s in app.query_one(PaneHead)._lines[0])
        assert "finished" in head or "interrupted" in head
        chart = app.query_one(RunPane).query("#growth").first()
        assert chart._graph.curves[0].times and math.isclose(chart._view.now, 19.0)


async def test_a_long_name_leaves_room_for_the_state():
    run = Growing(0)
    run.second(1)
    content = run.content()
    for name in ("n" * 200, "漢字" * 60, EVIL * 3):
        head = PaneHead()
        head._row = replace(content.row, path=Path("/r") / name)
        (line, *_) = head.paint(60, 3)
        text = "".join(span.text for span in line)
        assert cell_len(text) <= 60 and text.isprintable()
        assert "running" in text


async def test_the_second_chart_is_there_as_soon_as_there_is_room():
    run = Growing(0)
    run.second(1)
    app = Panes()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(RunPanes).show([run.content()])
        chart = app.query("#rate").first()
        await until(pilot, lambda: chart.display and chart.size.height > 3)
        await pilot.resize_terminal(80, 14)
        await until(pilot, lambda: not chart.display)
