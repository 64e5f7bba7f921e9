"""The right part of the Overview, and what a narrow one leaves out."""

import pytest
from aimed import aimed
from fakes import running, started
from hypothesis import given
from hypothesis import strategies as st
from mutated import mutated
from rich.cells import cell_len

from fuzztui.features.mutants.screen.aside import Survivors
from fuzztui.features.targeting.screen.strip import UncoveredGoals
from fuzztui.kernel.model.mutants import RAN, survivor_group
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base.canvas import TextSpan, width_of
from fuzztui.tui.base.text import ELLIPSIS
from fuzztui.tui.frame.overview_line import whole_spans
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.instance_columns import SPARK
from fuzztui.tui.screens.overview.aside import Aside
from fuzztui.tui.screens.overview.tiles import DISPENSABLE, Tile, fitting, tiles_of

VAST = (220, 60)


async def test_a_wide_terminal_shows_the_latest_finding_with_its_stack(drive):
    async with drive(running(), size=VAST) as d:
        aside = d.screen.query_one(Aside)
        assert [f.t for f, _ in aside._found] == sorted(
            (f.t for f, _ in aside._found), reverse=True
        )
        d.log.add(
            ev.FindingSaved("main", "crash", "crashes/new", 9),
            ev.FindingDescribed(
                "main", "crash", "crashes/new", "new", "IndexError: [/x]", "_re.py:7 in match",
                'Traceback (most recent call last):\n  File "/a/_re.py", line 7, in match\n'
                "    x[3]\nIndexError: [/x]",
            ),
        )  # fmt: skip
        await d.until(lambda: aside._found[0][0].title == "IndexError: [/x]")
        assert 'File "/a/_re.py", line 7, in match' in d.text()


def survivors(aside):
    (found,) = (one for one in aside._lists if isinstance(one, Survivors))
    return found._mutants


def goals(aside):
    (found,) = (one for one in aside._lists if isinstance(one, UncoveredGoals))
    return found._goals


@pytest.mark.slow
async def test_survivors_that_ran_most_are_listed_and_lead_to_their_screen(drive):
    async with drive(mutated(), size=VAST) as d:
        aside = d.screen.query_one(Aside)
        rows = d.app.campaign.mutants
        runs = sorted((m.runs for m in rows.values() if survivor_group(m) == RAN), reverse=True)
        assert [m.runs for m in survivors(aside)] == runs[: len(survivors(aside))]
        top = survivors(aside)[0]
        d.log.add(ev.MutantState("main", top.id, "killed", "main/3", "value"), dt=10.0)
        await d.until(lambda: top.id not in {m.id for m in survivors(aside)})
        second = survivors(aside)[0]
        aside.clicked(f"mutants {second.id}", 0)
        await d.until(lambda: d.screen.TAB == "mutants" and d.screen.query(BigTable))
        await d.until(lambda: d.table.current and d.table.current.id == second.id)


async def test_goals_are_listed_where_there_are_no_mutants(drive):
    async with drive(aimed(), size=VAST) as d:
        aside = d.screen.query_one(Aside)
        assert not survivors(aside)
        frontier = [goal.frontier for goal in goals(aside)]
        assert frontier == sorted(frontier, reverse=True)
        assert any(frontier)


async def test_narrower_terminals_have_no_such_part(drive):
    async with drive(mutated(), size=(160, 50)) as d:
        assert not d.screen.query_one(Aside).display
        assert not survivors(d.screen.query_one(Aside))  # nor does it cost anything


@pytest.mark.slow
async def test_instances_have_sparklines_in_a_wide_terminal(drive):
    async with drive(running(), size=VAST) as d:
        widths = {column.id: width for column, width in d.screen.instances._layout.cells}
        assert widths["rate_trend"] == widths["edges_trend"] == SPARK
        columns = {c.id: c for c in d.screen.instances.columns}
        text = columns["edges_trend"].cell(d.app.campaign.instances["main"])[0]
        bars = text.rstrip()
        assert len(text) == SPARK
        assert list(bars) == sorted(bars)  # edges never get fewer
    async with drive(running(), size=(120, 40)) as d:
        shown = {column.id for column, _ in d.screen.instances._layout.cells}
        assert not shown & {"rate_trend", "edges_trend"}


async def test_a_new_instance_has_no_sparkline_yet(drive):
    log = started().add(ev.InstanceState("main", "running"), ev.Stats("main", 5, 1.0, edges=3))
    async with drive(log, size=VAST) as d:
        columns = {c.id: c for c in d.screen.instances.columns}
        assert columns["edges_trend"].cell(d.app.campaign.instances["main"])[0] == ""


tiles = st.lists(
    st.builds(
        Tile,
        st.sampled_from([*DISPENSABLE, "crashes", "killed"]),
        st.sampled_from(["0", "1.23T", "99,999", "99,999/99,999", "≥99,999"]),
        st.just("edge"),
    ),
    max_size=9,
    unique_by=lambda tile: tile.label,
)


@given(tiles, st.integers(0, 220))
def test_tiles_are_whole_or_left_out(given_tiles, width):
    rows = fitting(given_tiles, width)
    assert sum(room + 1 for _, room in rows) <= width
    assert [tile for tile, _ in rows] == [t for t in given_tiles if t in [r for r, _ in rows]]
    for tile, room in rows:
        assert room >= max(cell_len(tile.label), cell_len(tile.value))
    gone = [t.label for t in given_tiles if t not in [r for r, _ in rows]]
    if gone and rows:  # the least important ones
        rank = {label: n for n, label in enumerate(DISPENSABLE)}
        assert max(rank.get(g, 99) for g in gone) <= min(rank.get(t.label, 99) for t, _ in rows)


@pytest.mark.parametrize("size", [(40, 12), (60, 24), (80, 24), (120, 40)], ids=str)
async def test_no_number_of_the_totals_is_cut(drive, size):
    log = mutated().add(
        ev.Stats(
            "main", 1_234_567_890, 123456.0, 98_765, 1, 2, 12_345, 678, 99_999, 1 << 20, 88_888,
            10**11, 10**10, 2, age=0.2,
        )
    )  # fmt: skip
    async with drive(log, size=size, shows="1.23G") as d:
        assert tiles_of(d.app.status)
        end = next(n for n, line in enumerate(d.lines()) if line.startswith(" instance"))
        assert not [line for line in d.lines()[2:end] if ELLIPSIS in line]


spans = st.lists(
    st.builds(TextSpan, st.text("ab1 ", min_size=1, max_size=9), st.sampled_from(["", "muted"])),
    max_size=8,
)


@given(spans, st.integers(0, 60))
def test_a_line_ends_with_a_whole_span(line, width):
    shown = whole_spans(line, width)
    assert width_of(shown) <= width
    assert shown == line[: len(shown)]
    if shown != line and shown:
        assert shown[-1].style != "muted"
