"""Where runs are found, and where the search ends."""

import os

import pytest

from fuzztui.run.home import finding
from fuzztui.run.home.finding import MAX_DEPTH, find_runs, runs_in


def run_in(path):
    (path / "log").mkdir(parents=True)
    (path / "supervisor").mkdir()
    return path


def test_runs_are_found_below_directories_each_once(tmp_path):
    one, two = run_in(tmp_path / "runs" / "one"), run_in(tmp_path / "p" / "q" / "runs" / "two")
    run_in(one / "out" / "inside")
    run_in(tmp_path / ".cache" / "hidden")
    (tmp_path / "link").symlink_to(two)
    found = find_runs([tmp_path, tmp_path / "runs", one, tmp_path / "link"])
    assert sorted(found.runs) == sorted([one, two])
    assert not found.cut and not found.unread


def test_the_search_is_bounded(tmp_path, monkeypatch):
    deep = tmp_path.joinpath(*(["d"] * (MAX_DEPTH + 2)))
    run_in(deep)
    assert find_runs([tmp_path]).runs == []
    for n in range(5):
        run_in(tmp_path / f"r{n}")
    monkeypatch.setattr(finding, "MAX_RUNS", 3)
    found = find_runs([tmp_path])
    assert len(found.runs) == 3 and found.cut
    monkeypatch.setattr(finding, "MAX_RUNS", 99)
    monkeypatch.setattr(finding, "MAX_DIRECTORIES", 2)
    assert find_runs([tmp_path]).cut


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_directory_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "shut").mkdir(mode=0)
    assert [path for path, _ in find_runs([tmp_path]).unread] == [tmp_path / "shut"]


def test_a_loop_of_links_and_a_missing_directory_end_the_search(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)
    found = find_runs([tmp_path, tmp_path / "missing"])
    assert found.runs == [] and [path for path, _ in found.unread] == [tmp_path / "missing"]


def test_runs_directly_in_a_directory(tmp_path):
    run_in(tmp_path / "runs" / "deeper" / "one")
    run_in(tmp_path / "runs" / "two")
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "runs" / "deeper" / "one")
    (tmp_path / "runs" / "file").touch()
    assert {run.name for run in runs_in(tmp_path / "runs")} == {"two", "linked"}
    assert runs_in(tmp_path / "gone") == runs_in(tmp_path / "runs" / "file") == []
