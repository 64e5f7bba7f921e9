"""Rows of benchmarks: kept as they come, torn lines left out; smoke mode is other defaults."""

import argparse
import json
import os
from pathlib import Path

import pytest
from lab.options import parse
from lab.rows import Rows


def test_rows_are_kept_at_once_and_told_by_what_made_them(tmp_path):
    rows = Rows("some", tmp_path / "new" / "rows.jsonl")
    assert list(rows.read()) == []
    rows.add(target="a", ratio=1.5)
    assert list(rows.read()) == [{"target": "a", "ratio": 1.5}]
    run = json.loads(rows.file.read_text())["run"]
    assert run["benchmark"] == "some"
    assert {"commit", "date", "machine", "command", "load"} <= run.keys()


def test_a_row_that_was_torn_costs_no_other(tmp_path, capsys):
    rows = Rows("some", tmp_path / "rows.jsonl")
    rows.add(n=1)
    rows.file.write_text(rows.file.read_text() + '{"n": 2, "ru')
    rows.add(n=3)
    assert [row["n"] for row in rows.read()] == [1, 3]
    assert 'not a row: {"n": 2' in capsys.readouterr().err


def options(*argv: str, **smoke: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    return parse(parser, "some", argv, **smoke)


def test_smoke_mode_is_other_defaults():
    assert (options(rounds=1).rounds, options("--smoke", rounds=1).rounds) == (15, 1)
    assert options("--smoke", "--rounds", "2", rounds=1).rounds == 2


def test_smoke_mode_keeps_no_rows_unless_it_is_told_where(tmp_path):
    assert options().results == Path("runs/benchmarks/some.jsonl").absolute()
    assert options("--smoke").results == Path(os.devnull)
    assert options("--smoke", "--results", str(tmp_path / "x")).results == tmp_path / "x"


def test_a_smoke_default_that_is_no_option_is_a_mistake():
    with pytest.raises(ValueError, match="smoke mode sets round, which is no option"):
        options("--smoke", round=1)
