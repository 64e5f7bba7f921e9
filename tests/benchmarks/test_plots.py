"""``experiments/plots.py``: which runs are drawn, and their median and interval over time."""

import json
from pathlib import Path

import pytest
from experiment_modules import experiment

plots = experiment("plots")


def zest(seed: int, found: dict[str, int], **other: object) -> dict[str, object]:
    return {"subject": "dns", "engine": "zest", "version": "v2", "seed": seed, "seconds": 60.0,
            "over": found, "branches_over": found, **other}  # fmt: skip


def written(tmp_path: Path, *rows: dict[str, object]) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_the_median_and_the_interval_stand_at_each_mark(tmp_path: Path) -> None:
    found = [{"1": 10 * seed, "10": 100 + seed} for seed in range(1, 8)]
    kind, curves = plots.read(written(tmp_path, *map(zest, range(1, 8), found)))
    assert (kind.x, kind.y) == ("seconds of CPU", "branches")
    line = plots.lines(curves)["dns"]["zest"]
    assert (line.runs, line.x, line.middle) == (7, [1, 10], [40, 104])
    assert 10 <= line.low[0] < 40 < line.high[0] <= 70


def test_few_runs_have_a_band_from_the_least_to_the_best(tmp_path: Path) -> None:
    rows = [zest(seed, {"1": seed}) for seed in (1, 2, 9)]
    line = plots.lines(plots.read(written(tmp_path, *rows))[1])["dns"]["zest"]
    assert (line.low, line.middle, line.high) == ([1], [2], [9])


def test_runs_of_older_sources_and_other_lengths_are_left_out(tmp_path: Path) -> None:
    rows = [zest(1, {"1": 1}, version="v1"), zest(2, {"1": 2}, seconds=10.0), zest(3, {"1": 3})]
    assert [c.found for c in plots.read(written(tmp_path, *rows))[1]] == [[3]]


def test_kills_and_cells_are_counted_at_the_moments_that_brought_them(tmp_path: Path) -> None:
    killed = {"subject": "s", "kind": "mu2", "seconds": 9.0, "killed_s": {"a": 2.0, "b": 0.5}}
    _, [curve] = plots.read(written(tmp_path, killed))
    assert [curve.at(moment) for moment in (0.1, 0.5, 1, 2, 5)] == [0, 1, 1, 2, 2]
    record = {"cells": [["x", 7, 1], ["y", 3, 1]], "trials": 50}
    row = {"handler": "h", "variant": "zest", "version": "v", "seconds": 9.0, "record": record}
    _, [curve] = plots.read(written(tmp_path, row))
    assert [curve.at(trial) for trial in (2, 3, 7, 50)] == [0, 1, 2, 2]


def test_campaigns_are_drawn_by_their_marks_and_their_end(tmp_path: Path) -> None:
    marks = {"5": {"edges": 7}, "end": {"edges": 9}}
    row = {"subject": "s", "arm": "text", "budget": "60s", "keys": {}, "elapsed_s": 61.5,
           "marks": marks}  # fmt: skip
    kind, [curve] = plots.read(written(tmp_path, row))
    assert (kind.x, kind.y) == ("seconds of campaign time", "edges")
    assert [curve.at(moment) for moment in (1, 5, 61.5)] == [0, 7, 9]


def test_a_line_ends_with_its_shortest_run(tmp_path: Path) -> None:
    rows = [zest(1, {"1": 1, "9": 2}), zest(2, {"1": 1})]
    line = plots.lines(plots.read(written(tmp_path, *rows))[1])["dns"]["zest"]
    assert line.x == [1]


def test_rows_without_times_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no row has figures over time"):
        plots.read(written(tmp_path, {"subject": "s", "edges": 3}))


def test_the_same_rows_draw_the_same_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = written(tmp_path, *(zest(seed, {"1": seed, "60": 90}) for seed in range(7)))
    pictures = []
    for name in ("a.svg", "b.svg"):
        plots.draw(rows, tmp_path / name)
        pictures.append((tmp_path / name).read_text())
    assert pictures[0] == pictures[1]
    assert ">dns<" in pictures[0]
    assert ">zest<" in pictures[0]
