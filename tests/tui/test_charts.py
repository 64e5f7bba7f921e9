"""The charts of the Overview: pages, windows, cursor, marks; what they leave out."""

import pytest
from fakes import running, started
from mutated import mutated

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Pause, PromoteEntry
from fuzztui.kernel.wire.finding_kinds import CRASH, HANG
from fuzztui.tui.base.chart import AXIS, Chart, ChartContent, Curve, View
from fuzztui.tui.base.dialogs import AskScreen
from fuzztui.tui.base.format import count
from fuzztui.tui.frame.ghost import Ghost
from fuzztui.tui.labels.states import STEERED
from fuzztui.tui.screens.overview.charts import WINDOWS, ChartGrid, available, marks


def shown(d):
    return [c for c in d.screen.query(Chart) if c.display and c.size.width]


def titles(d):
    return [c._graph.title for c in shown(d)]


def drawn(chart, width=60, height=9):
    return ["".join(span.text for span in line) for line in chart.paint(width, height)]


def chart_of(curves, view, **options):
    chart = Chart()
    chart._graph, chart._view = (
        ChartContent("Title", curves, lambda value: count(round(value)), **options),
        view,
    )
    return chart


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 24), (220, 60)], ids=str)
async def test_a_key_reaches_every_chart(drive, size):
    async with drive(mutated(), size=size) as d:
        await d.until(lambda: titles(d))
        room = len(titles(d))
        seen = set(titles(d))
        for _ in range(6):
            before = titles(d)
            await d.press("v")
            await d.until(lambda before=before: titles(d) != before)
            assert len(titles(d)) == room
            seen |= set(titles(d))
        assert seen == {"Mutants killed", "Edges", "Exec/s", "Kills/min", "Corpus"}


@pytest.mark.slow
async def test_an_empty_chart_of_findings_gives_its_place_to_a_growth(drive):
    async with drive(mutated()) as d:
        assert titles(d) == ["Mutants killed", "Edges", "Exec/s", "Kills/min"]
        d.log.add(ev.FindingSaved("main", "crash", "crashes/id:000000"))
        await d.until(lambda: titles(d) == ["Mutants killed", "Edges", "Exec/s", "Crashes"])
        findings = shown(d)[-1]
        assert d.app.campaign.series["hangs"].values
        assert [curve.label for curve in findings._graph.curves] == ["crashes"]
        d.log.add(ev.FindingSaved("main", "hang", "hangs/id:000000"), dt=1.0)
        await d.until(lambda: len(findings._graph.curves) == 2)
        assert findings._graph.title == "Findings"
        head = findings.paint(*findings.size)[0]
        signs = [span.text for span in head if span.style in ("crash", "hang")]
        assert len({*signs[::2]}) == 2  # without colours, the patterns tell crashes from hangs


def test_a_campaign_shows_the_growth_that_it_has():
    names = dict.fromkeys(("edges", "corpus"), Chart)
    for series in (["edges", "corpus"], ["corpus"]):
        state = State()
        records = started().records
        apply(state, records)
        for name in series:
            state.series[name] = names[name]
        assert len(available(state, found=False)) == 4
        assert len(available(state, found=True)) == 5


async def test_charts_have_seven_rows_at_forty(drive):
    async with drive(running(), size=(120, 40)) as d:
        assert all(chart.size.height >= 9 for chart in shown(d))


@pytest.mark.slow
async def test_a_key_goes_through_the_windows(drive):
    async with drive(running(900)) as d:
        seen = []
        for _ in WINDOWS:
            axis = shown(d)[0]._view.axis(50)
            seen.append((axis.start, axis.end))
            window = shown(d)[0]._view.window_s
            await d.press("w")
            await d.until(lambda window=window: shown(d)[0]._view.window_s != window)
        assert seen[0][0] == 0
        assert seen[0][1] > 900
        assert seen[1][1] - seen[1][0] == pytest.approx(300)
        assert 600 <= seen[1][0] <= 630
        assert seen[2] == seen[0]  # the campaign is shorter than an hour


@pytest.mark.slow
async def test_the_cursor_shows_the_values_of_its_time(drive):
    async with drive(running()) as d:
        grid = d.screen.query_one(ChartGrid)
        await d.press("shift+tab")
        assert d.app.focused is grid
        await d.press("left")
        chart = shown(d)[0]
        now = chart._view.cursor
        axis = chart._view.axis(chart.size.width - AXIS)
        assert axis.cell(now) == axis.cell(600)
        await d.press("left", "left")
        earlier = chart._view.cursor
        assert axis.cell(earlier) == axis.cell(now) - 2
        assert {c._view.cursor for c in shown(d)} == {earlier}
        await d.press("home")
        assert axis.cell(chart._view.cursor) == 0
        edges = d.app.campaign.series["edges"]
        await d.press("right", "right", "right")
        t = axis.start + (axis.cell(chart._view.cursor) + 1) * axis.step
        before = edges.at(t - 1e-6)
        assert f"all {before:,} " in drawn(chart, *chart.size)[0]
        await d.press("enter")
        assert chart._view.cursor < 0


@pytest.mark.slow
async def test_the_pointer_shows_values_until_it_leaves_and_a_click_keeps_them(drive):
    async with drive(running()) as d:
        chart, other = shown(d)[:2]
        await d.pilot.hover(chart, offset=(AXIS + 5, 3))
        await d.until(lambda: other._view.cursor >= 0)
        axis = chart._view.axis(chart.size.width - AXIS)
        assert axis.cell(chart._view.cursor) == 5
        await d.pilot.hover("#instances")
        await d.until(lambda: other._view.cursor < 0)
        await d.pilot.click(chart, offset=(AXIS + 9, 3))
        await d.pilot.hover("#instances")
        await d.until(lambda: axis.cell(other._view.cursor) == 9)
        await d.pilot.click(chart, offset=(2, 0))  # not in the plot
        await d.pilot.hover("#instances")
        await d.until(lambda: other._view.cursor < 0)


@pytest.mark.slow
async def test_arrow_keys_are_the_replays_unless_charts_have_the_focus(drive):
    async with drive(running(), replay_at=300.0, press=["right"]) as d:
        assert d.world.clock.t > 300
        t = d.world.clock.t
        d.screen.set_focus(d.screen.query_one(ChartGrid))
        await d.press("left", "left")
        assert d.world.clock.t == t
        assert shown(d)[0]._view.cursor >= 0


def test_an_axis_that_does_not_start_at_zero_says_so():
    curve = Curve("", "edge", [0.0, 50.0], [800.0, 900.0])
    lines = drawn(chart_of([curve], View(now=100.0)))
    assert "axis from 800" in lines[0]
    assert lines[-2].strip().startswith("800≈")
    lines = drawn(chart_of([curve], View(now=100.0), from_zero=True))
    assert "axis from" not in lines[0]
    assert lines[-2].strip().startswith("0┤")


def test_curves_differ_without_colour():
    points = ([0.0, 100.0], [10.0, 10.0])
    lower = ([0.0, 100.0], [5.0, 5.0])
    lines = drawn(chart_of([Curve("a", "x", *points), Curve("b", "y", *lower)], View(now=100.0)))
    upper_row, lower_row = lines[3][AXIS + 3], lines[7][AXIS + 3]
    assert len({upper_row, lower_row, " "}) == 3
    alone = drawn(chart_of([Curve("a", "x", *points)], View(now=100.0)))
    assert alone[3][AXIS + 3] not in (upper_row, " ")


def test_of_curves_that_cross_the_lower_one_is_in_front_at_each_time():
    """Else the one that is higher at the end would be hidden before."""
    early = Curve("early", "x", [0.0, 50.0], [2.0, 10.0])
    late = Curve("late", "y", [0.0, 50.0], [9.0, 5.0])
    chart = chart_of([early, late], View(now=100.0, still=True))
    bottom = chart.paint(60, 9)[7][1:]
    styles = [span.style for span in bottom for _ in span.text]
    assert "x" in styles[2] and "y" in styles[-2]


def test_marks_are_drawn_where_they_belong():
    log = started().add(ev.CampaignState("paused"), dt=10).add(ev.CampaignState("running"), dt=10)
    log.add(
        ev.CommandIssued("1", encode_command(PromoteEntry(1, "main"))),
        ev.CommandIssued("2", encode_command(Pause())),
        ev.CommandIssued("3", encode_command(Pause("main"))),
        dt=10,
    )
    log.add(ev.CampaignState("paused"), dt=10)
    state = log.state
    state.t = 50.0
    found = marks(state, {CRASH: [30.0], HANG: [45.0]})
    assert [(m.t, m.end) for m in found[:2]] == [(10.0, 20.0), (40.0, 50.0)]
    assert [m.t for m in found if m.sign == STEERED] == [30.0, 30.0]
    curve = Curve("", "edge", [0.0], [1.0])
    axis = drawn(chart_of([curve], View(now=50.0, marks=found, still=True)), AXIS + 50)[-1][AXIS:]
    assert axis[10:20] == found[0].sign * 10
    assert axis[30] == found[-1].sign  # a crash is more important than a command
    assert axis[45] not in axis[:45]
    assert "0:50" not in axis  # a mark is there


@pytest.mark.parametrize("width", [3, 10, 14, 15, 16, 40])
@pytest.mark.parametrize("height", [1, 2, 3, 4, 9])
def test_any_size_can_be_drawn(width, height):
    curve = Curve("name", "edge", [0.0, 5.0], [1.0, 1e12])
    view = View(now=9.0, cursor=3.0, note="note", marks=marks(State(), {CRASH: [1.0]}))
    for line in drawn(chart_of([curve, curve], view), width, height)[1:]:
        assert len(line) <= max(width, AXIS + 40)


async def test_nothing_is_painted_without_a_change(drive):
    async with drive(running()) as d:
        painted = []
        for chart in shown(d):
            chart.repaint = lambda: painted.append(1)
        d.screen._show_charts(d.app.campaign)
        assert not painted


def test_the_ghost_is_a_line_outside_of_an_area_and_a_gap_inside():
    times = [0.0, 25.0, 50.0]
    ours = Curve("", "edge", times, [40.0, 40.0, 40.0])
    view = View(now=50.0, still=True)
    plain = drawn(chart_of([ours], view, from_zero=True))
    for height, sign in ((80.0, "+"), (10.0, "-")):
        ghost = Curve("before", "muted", times, [height] * 3)
        chart = chart_of([ours], view, from_zero=True, ghost=ghost)
        lines = drawn(chart)
        assert lines[1:-1] != plain[1:-1]
        difference = int(40 - height)
        assert (
            f"{abs(difference)} {'more' if difference > 0 else 'fewer'} than before ({int(height)})"
            in lines[0]
        )
        rows = [line[AXIS:] for line in lines[1:-1]]
        if sign == "+":
            assert any(set(row) & set("⠉⠒⠤⣀⠛") and "⣿" not in row for row in rows)
        else:
            assert sum(row.count("⣿") for row in rows) < sum(line.count("⣿") for line in plain)


@pytest.mark.parametrize("replay_at", [None, 60.0])
async def test_the_earlier_run_is_drawn_until_a_key_hides_it(drive, replay_at):
    other = Ghost.of("parser-1", running(300).state)
    asked = []

    def ghost(path):
        asked.append(path)
        return Ghost.of("parser-2", running(200).state) if path else other

    async with drive(running(120), size=(120, 40), replay_at=replay_at, ghost=ghost) as d:
        await d.until_shows("parser-1 (")
        await d.press("o")
        await d.until(lambda: "parser-1 (" not in d.text())
        await d.press("o")
        await d.until_shows("parser-1 (")
        await d.press("O")
        await d.until(lambda: isinstance(d.app.screen, AskScreen))
        await d.press(*"runs/x", "enter")
        await d.until_shows("parser-2 (")
        assert asked == ["", "runs/x"]


async def test_a_run_that_cannot_be_compared_is_reported_and_the_earlier_one_stays(drive):
    def ghost(path):
        if path:
            raise LogError(f"{path}: no log is there")
        return Ghost.of("parser-1", running(300).state)

    async with drive(running(120), size=(120, 40), ghost=ghost) as d:
        await d.until_shows("parser-1 (")
        await d.press("O", *"nowhere", "enter")
        await d.until(lambda: any("no log is there" in text for text in d.notices()))
        d.assert_shows("parser-1 (")


def test_a_rate_of_the_ghost_ends_with_its_run_and_a_count_stays():
    times, values = [0.0, 10.0, 20.0], [5.0, 5.0, 5.0]
    view = View(now=40.0, still=True)
    for shows, known in (("mean", False), ("last", True)):
        until = 20.0 if shows == "mean" else float("inf")
        ghost = Curve("before", "muted", times, values, shows, until=until)
        chart = chart_of([Curve("", "rate", [0.0, 40.0], [9.0, 9.0], shows)], view, ghost=ghost)
        assert ("than before" in drawn(chart)[0]) is known


async def test_charts_of_a_live_campaign_are_drawn_from_time_to_time(drive, monkeypatch):
    monkeypatch.setattr("fuzztui.tui.screens.overview.screen.CHARTS_S", 3600.0)
    async with drive(running()) as d:
        charts = d.screen.query_one(ChartGrid)
        before = charts._view.now
        d.log.add(ev.Stats("main", 2_000_000), dt=30.0)
        await d.until(lambda: "0:10:30" in d.lines()[1])
        assert charts._view.now == before  # each drawing is sent to the terminal
        d.log.add(ev.FindingSaved("main", "crash", "crashes/id:000077,sig:06", 77, [], "", 6))
        await d.until(lambda: charts._view.now == before + 30)
        d.log.add(ev.Stats("main", 3_000_000), dt=30.0)
        await d.until(lambda: d.screen._charts_due)
        d.screen._show_due_charts()  # what the timer calls
        await d.until(lambda: charts._view.now == before + 60 and not d.screen._charts_due)
