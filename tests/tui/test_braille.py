"""Charts show what the series say."""

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.tui.base.braille import bars, gauge, nice_bounds, resample, resample_mean, rows

points = st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 1e6)), min_size=1, max_size=60).map(
    sorted
)


@given(points, st.integers(2, 80))
def test_resampling_holds_each_value_until_the_next(series, columns):
    end = series[-1][0]
    out = resample(series, 0.0, end, columns)
    assert len(out) == columns
    assert out[-1] == series[-1][1]
    for c, value in enumerate(out):
        t = c * end / (columns - 1)
        held = [v for at, v in series if at <= t + 1e-9]
        assert value == (held[-1] if held else None)


@given(points, st.integers(2, 80))
def test_means_stay_within_the_data(series, columns):
    values = [v for _, v in series]
    for value in resample_mean(series, 0.0, series[-1][0], columns):
        assert value is None or min(values) * 0.999 <= value <= max(values) * 1.001


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_bounds_enclose_the_data(a, b):
    low, high = min(a, b), max(a, b)
    bottom, top = nice_bounds(low, high)
    assert bottom <= low + abs(low) * 1e-9
    assert top >= high - abs(high) * 1e-9
    assert bottom < top


@given(st.lists(st.none() | st.floats(0, 100), max_size=60), st.integers(1, 8), st.booleans())
def test_a_plot_has_its_size_and_a_dot_for_every_solid_value(values, height, dotted):
    out = rows(values, height, 0, 100, dotted=dotted)
    width = (len(values) + 1) // 2
    assert [len(line) for line in out] == [width] * height
    for x in range(width):
        known = [v for v in values[2 * x : 2 * x + 2] if v is not None]
        drawn = any(line[x] != " " for line in out)
        if not dotted:
            assert drawn == bool(known)
        elif not known:
            assert not drawn


def test_a_step_is_drawn_upright():
    assert rows([0, 0, 100, 100], 2, 0, 100) == [" ⡏", "⣀⡇"]


def test_sparkline_and_gauge():
    assert bars([0, 1, 8, None]) == " ▁█ "
    assert gauge(0.5, 10) == ("━" * 5, "─" * 5)
    assert gauge(2, 4) == ("━" * 4, "")
    assert gauge(-1, 4) == ("", "─" * 4)
