"""When a campaign gained edges and kills, and how high a gain is drawn."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.model.gains import LEVELS, Gain, Gains, levels, ranking
from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import Entry, State

grown = st.lists(st.tuples(st.floats(0, 600), st.integers(0, 50)), max_size=60).map(sorted)


def state_of(edges, kills):
    state = State()
    for name, steps in (("edges", edges), ("killed", kills)):
        series, total = state.series.setdefault(name, Series()), 0
        for t, n in steps:
            total += n
            series.add(t, total)
    return state


@given(grown, grown, st.lists(st.floats(0, 600), max_size=5))
def test_periods_side_by_side_have_all_gains(edges, kills, cuts):
    gains = Gains.of(state_of(edges, kills), named=False)
    limits = sorted([-1.0, *cuts, 601.0])
    periods = [gains.between(low, high) for low, high in pairwise(limits)]
    assert sum(one.edges for one in periods) == sum(n for _, n in edges)
    assert sum(one.kills for one in periods) == sum(n for _, n in kills)
    for one, low, high in zip(periods, limits, limits[1:], strict=False):
        assert (one.t == -1) == (one.size == 0)
        assert one.t == -1 or low <= one.t < high


def test_a_number_that_falls_is_no_gain_until_it_is_higher_than_ever():
    state = State()
    series = state.series.setdefault("edges", Series())
    for t, edges in ((1, 100), (2, 20), (3, 90), (4, 110)):
        series.add(float(t), edges)
    gains = Gains.of(state, named=False)
    assert [gains.between(t, t + 1).edges for t in range(6)] == [0, 100, 0, 0, 10, 0]


def test_only_entries_with_new_edges_or_kills_are_named():
    state = State()
    for n, reasons in enumerate((["edge"], ["kill"], ["compare"], ["valid-edge", "edge"])):
        state.entries[f"main/{n}"] = Entry(f"main/{n}", "main", n, float(n), reasons=reasons)
    state.entries["afl/0"] = Entry("afl/0", "afl", 0, 2.5, cov=True)
    named = Gains.of(state, named=True).between(0, 10)
    assert named.entries == ["main/0", "main/1", "afl/0", "main/3"]
    assert not Gains.of(state, named=False).between(0, 10).entries


@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_larger_gains_are_higher_and_come_first(sizes):
    gains = [Gain(0.0, size, 0, ()) for size in sizes]
    heights = levels(gains)
    assert all((height > 0) == (size > 0) for height, size in zip(heights, sizes, strict=True))
    assert max(heights) <= LEVELS
    order = ranking(gains)
    assert [sizes[n] for n in order] == sorted((s for s in sizes if s), reverse=True)
    assert [heights[n] for n in order] == sorted((h for h in heights if h), reverse=True)
