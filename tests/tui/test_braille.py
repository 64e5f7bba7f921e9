"""Charts show what the series say."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.tui.base.braille import (
    PATTERNS,
    area,
    bars,
    calm_top,
    gauge,
    growth,
    nice_bounds,
    resample,
)
from fuzztui.tui.base.timeaxis import TimeAxis, time_axis

points = st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 1e6)), min_size=1, max_size=60).map(
    sorted
)
windows = st.sampled_from([0.0, 300.0, 3600.0])
cells = st.integers(1, 120)
moments = st.floats(0, 1e7)


@given(windows, moments, cells, st.booleans())
def test_an_axis_shows_the_present_and_moves_by_whole_cells(window, now, cells, still):
    axis = time_axis(window, now, cells, still=still)
    assert axis.start >= 0
    assert axis.cell(now) >= 0
    assert now <= axis.end * (1 + 1e-9)
    if 0 < window < now:
        assert abs(axis.end - axis.start - window) < 1e-6 * axis.end
        assert still or axis.end - now <= window / 10 + 1e-6
    else:
        assert axis.start == 0
        assert still or now < 10 or axis.end <= now * 1.4
    for cell in range(cells):
        assert axis.cell(axis.time(cell)) == cell
    assert axis.cell(axis.start - 1) == axis.cell(axis.end + 1) == -1


@given(st.floats(20, 1e6), cells)
def test_a_calm_axis_shows_the_present_and_is_not_mostly_empty(now, cells):
    axis = time_axis(0.0, now, cells, calm=True)
    assert axis.start == 0 and axis.cell(now) >= 0
    assert axis.end <= 3 * now


def test_a_calm_axis_changes_a_few_times_in_a_day():
    calm, other = (
        {time_axis(0.0, t, 50, calm=calm).end for t in range(1, 86_400, 10)}
        for calm in (True, False)
    )
    assert len(calm) <= 14 < len(other) / 2


@given(st.floats(1e-9, 1e15))
def test_a_calm_top_is_above_the_values_and_not_far(high):
    assert high <= calm_top(high) * (1 + 1e-9) and calm_top(high) <= 1.7 * high


@given(windows, moments, cells, moments, st.integers(-200, 200))
def test_the_cursor_moves_by_cells_and_stays_on_the_axis(window, now, cells, t, by):
    axis = time_axis(window, now, cells)
    before = axis.cell(axis.moved(t, 0))
    assert 0 <= before < cells
    assert axis.cell(t) in (-1, before)
    assert axis.cell(axis.moved(t, by)) == max(0, min(cells - 1, before + by))


@given(windows.filter(bool), st.floats(1, 1e6), st.floats(0, 5), cells)
def test_while_an_axis_stands_still_no_cell_changes_its_time(window, now, later, cells):
    before, after = time_axis(window, now, cells), time_axis(window, now + later, cells)
    if before.cell(now + later) >= 0 and now > window:
        assert before == after


@given(points, cells, st.floats(0, 1200))
def test_resampling_holds_each_value_until_the_next(series, cells, now):
    axis = time_axis(0.0, now, cells)
    series = [(t, v) for t, v in series if t <= now]
    times, values = [t for t, _ in series], [v for _, v in series]
    out = resample(times, values, axis, now)
    assert len(out) == 2 * cells
    for c, value in enumerate(out[:-1]):
        begin, end = axis.start + c * axis.step / 2, axis.start + (c + 1) * axis.step / 2
        held = [v for t, v in series if t < end]
        assert value == (held[-1] if held and begin <= now else None)
    drawn = [v for v in out if v is not None]
    assert not series or drawn[-1] == series[-1][1]


@given(points, cells, windows)
def test_means_stay_within_the_data(series, cells, window):
    times, values = [t for t, _ in series], [v for _, v in series]
    axis = time_axis(window, times[-1], cells)
    for value in resample(times, values, axis, times[-1], mean=True):
        assert value is None or min(values) * 0.999 <= value <= max(values) * 1.001


@given(st.integers(1, 120), st.floats(0.1, 100), st.integers(1, 40))
def test_a_steady_growth_is_drawn_as_it_is(cells, per_minute, apart):
    times = [float(t) for t in range(0, 601, apart)]
    axis = TimeAxis(60.0, 540 / cells, cells)
    out = growth(times, [t * per_minute / 60 for t in times], axis, times[-1])
    assert len(out) == 2 * cells
    for value in out:
        assert value is None or abs(value - per_minute) <= 1e-6 * per_minute


def test_without_new_points_a_growth_ends():
    out = growth([0.0, 60.0], [0.0, 60.0], TimeAxis(0.0, 6.0, 50), 300.0)
    assert out[19] == 60
    assert all(a >= b for a, b in itertools.pairwise(out[19:]))
    assert out[-1] == 0


def test_where_a_count_starts_is_no_growth():
    out = growth([10.0, 20.0], [500.0, 500.0], TimeAxis(0.0, 1.0, 30), 30.0)
    assert out[:19] == [None] * 19
    assert set(out[19:]) == {0.0}


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_bounds_enclose_the_data(a, b):
    low, high = min(a, b), max(a, b)
    bottom, top = nice_bounds(low, high)
    assert bottom <= low + abs(low) * 1e-9
    assert top >= high - abs(high) * 1e-9
    assert bottom < top


@given(
    st.lists(st.none() | st.floats(0, 100), max_size=60).filter(lambda vs: len(vs) % 2 == 0),
    st.integers(1, 8),
    st.sampled_from(PATTERNS),
)
def test_an_area_is_as_high_as_its_values(values, height, pattern):
    filled, drawn = area(values, height, 0, 100, pattern)
    assert (
        [len(row) for row in filled] == [len(row) for row in drawn] == [len(values) // 2] * height
    )
    for x, value in enumerate(values):
        side = 0xB8 if x % 2 else 0x47
        dots = sum((row[x // 2] & side).bit_count() for row in filled)
        assert dots == (0 if value is None else 1 + round(value / 100 * (4 * height - 1)))
        # The curve itself is drawn in every pattern.
        assert (value is None) == (not any(row[x // 2] & side for row in drawn))


def test_areas_differ_by_their_dots():
    flat = [100.0] * 8
    assert len({str(area(flat, 4, 0, 100, pattern).drawn) for pattern in PATTERNS}) == 3


def test_sparkline_and_gauge():
    assert bars([0, 1, 8, None]) == " ▁█ "
    assert gauge(0.5, 10) == ("━" * 5, "─" * 5)
    assert gauge(2, 4) == ("━" * 4, "")
    assert gauge(-1, 4) == ("", "─" * 4)


@given(st.floats(0, 1), st.integers(0, 60))
def test_a_gauge_is_full_for_the_whole_only_and_empty_for_nothing_only(share, width):
    full, rest = gauge(share, width)
    assert len(full + rest) == width
    if width:
        assert (full == "") == (share == 0)
    if width > 1:
        assert (rest == "") == (share == 1)


def test_the_axis_of_a_young_campaign_changes_rarely():
    ends = {time_axis(0.0, seconds / 10, 40).end for seconds in range(1, 1200)}
    assert len(ends) <= 6
    assert all(time_axis(0.0, now, 40).end <= 2 * now for now in (10.0, 25.0, 61.0, 100.0, 300.0))
