import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.watch.plot_data import Plot

NEW = (
    "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, map_size, "
    "saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found\n"
)
OLD = (
    "# unix_time, cycles_done, cur_path, paths_total, pending_total, pending_favs, map_size, "
    "unique_crashes, unique_hangs, max_depth, execs_per_sec\n"
)


def row(s: int) -> str:
    return f"{s}, 1, 2, {s // 10}, 4, 5, 6.70%, 7, 8, 9, 1000.25, {s * 1000}, 12\n"


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "plot_data"


def seconds(file: Path, most: int = 100) -> list[float]:
    return [r.seconds for r in Plot(str(file)).history(most)]


def test_a_short_file_is_read_whole(file):
    file.write_text(NEW + "".join(row(s) for s in range(60, 160, 5)))
    plot = Plot(str(file))
    rows = plot.history(100)
    assert [r.seconds for r in rows] == list(range(60, 160, 5))
    assert rows[0].count("corpus_count") == 6
    assert rows[0].count("total_execs") == 60_000
    assert rows[0].count("no_such_column") == -1
    assert not rows[0].unix
    assert plot.problem == ""


def test_of_a_day_some_rows_are_read_and_the_last_one(file):
    file.write_text(NEW + "".join(row(s) for s in range(60, 86400, 5)))
    found = seconds(file, 200)
    assert 190 <= len(found) <= 201
    assert found[-1] == 86395
    gaps = [b - a for a, b in itertools.pairwise(found)]
    assert max(gaps) < 3 * 86400 / 200


def test_old_columns_have_todays_names(file):
    file.write_text(OLD + "1400000000, 1, 2, 3, 4, 5, 6.7%, 8, 9, 10, 11.5\n")
    (only,) = Plot(str(file)).history(10)
    assert only.unix
    assert only.seconds == 1400000000
    assert (only.count("corpus_count"), only.count("saved_crashes")) == (3, 8)
    assert "total_execs" not in only.values


def test_more_columns_are_no_trouble(file):
    header = NEW.rstrip() + ", total_crashes, servers_count\n"
    file.write_text(header + row(5).rstrip() + ", 13, 14\n")
    assert [r.count("servers_count") for r in Plot(str(file)).history(10)] == [14]


def test_a_torn_last_line_waits_for_its_end(file):
    whole = NEW + row(60) + row(65)
    file.write_text(whole + row(70)[:-9])
    assert seconds(file) == [60, 65]
    plot = Plot(str(file))
    news = plot.news()
    assert news is not None and news.seconds == 65
    file.write_text(whole + row(70))
    news = plot.news()
    assert news is not None and news.seconds == 70
    assert plot.news() is None


def test_a_header_that_comes_late(file):
    file.write_text("")
    plot = Plot(str(file))
    assert plot.news() is None
    with file.open("a") as more:
        more.write(NEW + row(60))
    news = plot.news()
    assert news is not None and news.seconds == 60


@pytest.mark.parametrize("first", ["", "\n", "0, 1, 2\n", "# something, else\n", "\x1b[2J\n", "# "])
def test_another_header_is_a_problem_and_no_failure(file, first):
    file.write_text(first + row(60))
    plot = Plot(str(file))
    assert plot.history(10) == []
    if first.strip():
        assert "AFL's header" in plot.problem
        assert "\x1b" not in plot.problem


def test_rows_that_are_none_are_left_out(file):
    bad = ["nan" + row(1)[1:], "-5" + row(1)[1:], "inf" + row(1)[1:], "# again\n", "1, 2\n", "\n"]
    file.write_text(NEW + row(60) + "".join(bad) + row(65))
    assert seconds(file) == [60, 65]


def test_a_number_that_cannot_be_is_none(file):
    file.write_text(NEW + row(60).replace("60000", "9" * 300))
    (only,) = Plot(str(file)).history(10)
    assert only.count("total_execs") == -1
    assert only.count("cycles_done") >= 0


def test_an_older_start_in_the_same_file_does_not_go_back(file):
    file.write_text(NEW + row(60) + row(400) + row(500) + row(60) + row(65) + row(505))
    assert seconds(file) == [60, 400, 500, 505]


@pytest.mark.parametrize("wrong", ["9" * 300, "9" * 18, "86400000"])
def test_a_wrong_clock_costs_its_own_rows_only(file, wrong):
    rows = [row(s) for s in range(60, 200, 5)]
    for at in (0, 10):
        file.write_text(NEW + "".join(rows[:at]) + wrong + rows[0][2:] + "".join(rows[at:]))
        assert seconds(file) == list(range(60, 200, 5))


def test_what_is_no_file(file):
    plot = Plot(str(file))
    assert (plot.history(10), plot.news(), plot.problem) == ([], None, "")
    for make in (
        os.mkfifo,
        os.mkdir,
        lambda p: os.symlink(p, p),
        lambda p: os.symlink("/dev/zero", p),
    ):
        make(file)
        plot = Plot(str(file))
        assert plot.history(10) == []
        assert plot.news() is None
        assert "plot_data cannot be read" in plot.problem
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()


@pytest.mark.slow
def test_a_large_file_of_anything(file):
    file.write_bytes(NEW.encode() + b"\0" * (50 << 20))
    plot = Plot(str(file))
    assert plot.history(100) == []
    assert plot.news() is None


@given(st.binary(max_size=2000))
def test_any_bytes(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("p") / "plot_data"
    for content in (data, NEW.encode() + data):
        file.write_bytes(content)
        plot = Plot(str(file))
        rows = plot.history(20)
        assert all(a.seconds < b.seconds for a, b in itertools.pairwise(rows))
        plot.news()
