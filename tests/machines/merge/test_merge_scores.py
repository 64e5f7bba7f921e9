"""``fuzztui merge FILE.json...``: scores of shards and of several corpora, and kill matrices."""

import json
import random

import pytest

from fuzztui.cli.output import DONE, USAGE
from fuzztui.features.corpus.matrix import CorpusMatrix


def row(id_, state, **more):
    return {"id": id_, "state": state, "before": "a", "after": id_, "file": "m.py", **more}


def score(mutants, *, shard=None, program="aa", **more):
    shard = shard and {"number": shard[0], "of": shard[1], "mutants": 6}
    base = {"exact": True, "inputs": 3, "program": program, "shard": shard, "mutants": mutants}
    return {**base, "warnings": [], "corpus": ["/c"], **more}


@pytest.fixture
def merge(ask, tmp_path):
    def merged(*scores, code=DONE):
        files = []
        for n, data in enumerate(scores):
            files.append(tmp_path / f"{n}.json")
            files[-1].write_text(data if isinstance(data, str) else json.dumps(data))
        status, out, err = ask("merge", *files)
        assert status == code, err
        return (json.loads(out) if code == DONE else None), err

    return merged


def test_shards_make_a_whole(merge):
    parts = [
        score([row("m0", "killed", killer="a"), row("m1", "alive")], shard=(1, 3), static=1),
        score([row("m2", "killed"), row("m3", "invalid")], shard=(2, 3), static=2),
        score([row("m4", "pending"), row("m5", "equivalent")], shard=(3, 3), static=0),
    ]
    random.Random(1).shuffle(parts)
    whole, err = merge(*parts)
    assert err == ""
    assert {k: whole[k] for k in ("total", "killed", "alive", "pending", "invalid", "static")} == {
        "total": 6, "killed": 2, "alive": 1, "pending": 1, "invalid": 1, "static": 3,
    }  # fmt: skip
    assert (whole["score"], whole["exact"], whole["shard"]) == (2 / 5, True, None)
    assert merge(json.loads(json.dumps(whole)))[0]["mutants"] == whole["mutants"]


def test_a_missing_shard_makes_it_a_lower_bound_until_it_comes(merge):
    one, two = score([row("m0", "killed")], shard=(1, 2)), score([row("m1", "alive")], shard=(2, 2))
    half, err = merge(one)
    assert (half["exact"], half["shard"]["numbers"], "2 of 2" in err) == (False, [1], True)
    whole, err = merge({**half, "exact": True}, two)
    assert (whole["exact"], whole["total"], err) == (True, 2, "")


def test_of_several_corpora_a_kill_wins(merge):
    a = score([row("m0", "alive", reached=True), row("m1", "killed", killer="x")], inputs=2)
    b = score([row("m0", "killed", killer="y"), row("m1", "pending")], inputs=9)
    for order in ((a, b), (b, a), (a, b, a)):
        whole, _ = merge(*order)
        assert {m["id"]: (m["state"], m["killer"]) for m in whole["mutants"]} == {
            "m0": ("killed", "y"), "m1": ("killed", "x"),
        }  # fmt: skip
        assert (whole["score"], whole["inputs"]) == (1.0, 9)
        assert whole["mutants"][0]["reached"] is True


def test_shards_of_different_inputs_are_not_exact(merge):
    one = score([row("m0", "killed")], shard=(1, 2), inputs=3)
    whole, _ = merge(one, score([row("m1", "alive")], shard=(2, 2), inputs=4))
    assert (whole["exact"], len(whole["warnings"])) == (False, 1)


@pytest.mark.parametrize(
    "other",
    [
        score([row("m1", "alive")], shard=(2, 2), program="bb"),
        score([row("m1", "alive")], shard=(2, 3)),
        score([row("m1", "alive")]),
        score([row("m0", "alive", after="z")], shard=(2, 2)),
        {"mutants": [{"id": "m1", "state": "odd"}]},
        {"mutants": [7]},
        [],
        "not JSON",
        "[" * 100_000,
    ],
)
def test_what_does_not_belong_to_it_is_refused(merge, other):
    _, err = merge(score([row("m0", "killed")], shard=(1, 2)), other, code=USAGE)
    assert (len(err.splitlines()), "1.json" in err) == (1, True)


def matrix(ids, rows, **more):
    return {
        "version": 1, "digest": "d", "mutants": ids, "cells": [["m.py", 1, "arm", "f"]],
        "first_only": [], "rows": rows, **more,
    }  # fmt: skip


def cell_row(sha, kills, reached="0"):
    return {
        "file": f"/q/{sha}", "sha256": sha, "size": 1, "outcome": "success", "edges": [0],
        "kills": kills, "reached": reached, "infected": "0",
    }  # fmt: skip


def test_kill_matrices_are_joined_by_input_and_mutant(merge):
    a = score([row("m0", "killed"), row("m2", "alive")], shard=(1, 2))
    a["matrix"] = matrix(["m0", "m2"], [cell_row("s1", {"value": [0]}, "3"), cell_row("s2", {})])
    b = score([row("m1", "killed"), row("m3", "killed")], shard=(2, 2))
    rows = [cell_row("s1", {"value": [1], "died": [0]}, "2"), cell_row("s2", {"value": [1]})]
    b["matrix"] = matrix(["m3", "m1"], rows, first_only=[[0, "s1"]])
    whole, _ = merge(a, b)
    joined = CorpusMatrix.of(whole["matrix"])
    assert [(r.sha256, r.kills) for r in joined.rows] == [
        ("s1", {"m0": "value", "m1": "value", "m3": "died"}), ("s2", {"m1": "value"}),
    ]  # fmt: skip
    assert (joined.mutants, joined.first_only) == (("m0", "m2", "m3", "m1"), frozenset({"m3"}))
    assert joined.rows[0].reached == 0b1011


@pytest.mark.parametrize(
    "damaged", [{"rows": [{}]}, {"mutants": 7}, {"cells": []}, {"first_only": [[9, ""]]}]
)
def test_a_damaged_matrix_is_refused(merge, damaged):
    a, b = (score([row(f"m{n}", "killed")], shard=(n + 1, 2)) for n in (0, 1))
    a["matrix"] = matrix(["m0"], [cell_row("s1", {"value": [0]})])
    b["matrix"] = {**matrix(["m1"], [cell_row("s1", {"value": [0]})]), **damaged}
    merge(a, b, code=USAGE)


def test_files_of_matrices_are_joined(merge):
    def file(number, kills):
        shard = {"number": number, "of": 2, "mutants": 6}
        entries = [{"file": "/q/x", "sha256": "s1", "size": 1, "outcome": "success", **kills}]
        base = {"exact": True, "corpus": ["/c"], "program": "aa", "shard": shard}
        return {**base, "first_only": [], "entries": entries}

    whole, err = merge(file(1, {"kills": {"m0": "value"}}), file(2, {"kills": {"m1": "died"}}))
    assert (whole["exact"], whole["shard"], err) == (True, None, "")
    assert [e["kills"] for e in whole["entries"]] == [{"m0": "value", "m1": "died"}]
    merge(file(1, {"kills": {}}), score([row("m0", "killed")]), code=USAGE)
    merge(file(1, {"kills": {}}), file(2, {"kills": 7}), code=USAGE)


def test_the_result_goes_to_a_file_that_gates_can_read(ask, tmp_path):
    for n in (1, 2):
        data = score([row(f"m{n}", "alive", function="f", operator="o")], shard=(n, 2))
        (tmp_path / f"{n}.json").write_text(json.dumps(data))
    out = tmp_path / "whole.json"
    code, text, _ = ask("merge", tmp_path / "1.json", tmp_path / "2.json", "-o", out)
    assert (code, "2 mutants, 0 killed" in text) == (DONE, True)
    assert json.loads(out.read_text())["total"] == 2
    code, _, err = ask("merge", tmp_path / "1.json", "-o", tmp_path / "no/such/file")
    assert (code, "no/such" in err) == (1, True)
