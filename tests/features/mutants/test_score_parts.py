"""Merging the parts of a score: counts, flaky inputs, matrices, and what is refused."""

import copy

import pytest

from fuzztui.features.mutants.score_parts import damage_of, doubtful_of, flaky_of, merged


def row(n, state="alive", killer=""):
    return {"id": f"m{n}", "state": state, "killer": killer, "oracle": "value" if killer else ""}


def part(indices, *rows, flaky=(), **more):
    return {
        "total": 4, "static": 1, "exact": True, "inputs": 3, "flaky": list(flaky), "warnings": [],
        "indices": list(indices), "mutants": list(rows), "digest": "d", **more,
    }  # fmt: skip


def test_rows_are_in_the_order_of_the_program_and_counted():
    one = part([0, 2], row(0, "killed", "a"), row(2), warnings=["w", "x"])
    two = part([1, 3], row(1, "invalid"), row(3, "pending"), warnings=["x", "y"], exact=False)
    found = merged([one, two])
    assert [m["id"] for m in found["mutants"]] == ["m0", "m1", "m2", "m3"]
    counts = {key: found[key] for key in ("total", "killed", "alive", "pending", "invalid")}
    assert counts == {"total": 4, "killed": 1, "alive": 1, "pending": 1, "invalid": 1}
    assert found["score"] == 1 / 3
    assert (found["static"], found["exact"]) == (2, False)
    assert found["warnings"] == ["w", "x", "y"]


def test_a_kill_by_an_input_that_another_part_found_flaky_is_run_again():
    one = part([0, 1], row(0, "killed", "a"), row(1, "killed", "b"))
    two = part([2, 3], row(2, "killed", "c"), row(3), flaky=["b", "a"])
    assert flaky_of([one, two]) == ["a", "b"]
    assert doubtful_of([one, two]) == [0, 1]
    again = part([0, 1], row(0, "killed", "c"), row(1), flaky=["a", "b"], again=True)
    assert doubtful_of([one, two, again]) == []
    found = merged([one, two, again])
    assert [m["state"] for m in found["mutants"]] == ["killed", "alive", "killed", "alive"]
    assert found["mutants"][0]["killer"] == "c"
    assert (found["flaky"], found["static"]) == (2, 2), "static mutants are not counted twice"


def matrix(rows, first_only=()):
    return {
        "version": 1, "digest": "d", "mutants": ["m0", "m1"], "cells": [],
        "first_only": [list(pair) for pair in first_only],
        "rows": [
            {"file": sha, "sha256": sha, "size": 1, "outcome": outcome, "edges": [], "kills": kills,
             "reached": reached, "infected": reached}
            for sha, outcome, kills, reached in rows
        ],
    }  # fmt: skip


def test_matrices():
    one = matrix(
        [("a", "valid", {"value": [0]}, "1"), ("b", "valid", {}, "0"), ("c", "valid", {}, "1")],
        [(3, "a")],
    )
    two = matrix(
        [
            ("a", "valid", {"exception": [1], "value": [5]}, "22"),
            ("b", "flaky", {}, "0"),
        ],
        [(1, "")],
    )
    found = merged([part([0], row(0), matrix=one), part([1], row(1), matrix=two)])["matrix"]
    assert found["first_only"] == [[1, ""], [3, "a"]]
    assert [r["sha256"] for r in found["rows"]] == ["a", "b"], "c was not run by all parts"
    assert found["rows"][0]["kills"] == {"value": [0, 5], "exception": [1]}
    assert list(found["rows"][0]["kills"]) == ["value", "exception"], "in the engine's order"
    assert found["rows"][0]["reached"] == "23"
    assert (found["rows"][1]["outcome"], found["rows"][1]["kills"]) == ("flaky", {})


SOUND = part([0], row(0), matrix=matrix([("a", "valid", {"value": [0]}, "1")]))


def test_what_is_sound():
    assert damage_of(SOUND) == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mutants", None),
        ("mutants", []),
        ("mutants", [5]),
        ("mutants", [{"id": 5, "state": "alive"}]),
        ("mutants", [{"id": "m0", "state": "dead"}]),
        ("indices", ["0"]),
        ("indices", [-1]),
        ("indices", [True]),
        ("total", -3),
        ("total", "4"),
        ("digest", None),
        ("flaky", [1]),
        ("flaky", None),
        ("matrix", []),
        ("matrix", {"rows": [], "first_only": None}),
        ("matrix", {"rows": [{}], "first_only": []}),
    ],
)
def test_what_a_worker_may_send_instead(key, value):
    result = copy.deepcopy(SOUND)
    result[key] = value
    assert damage_of(result)


def test_a_matrix_with_a_damaged_row():
    for key, value in (("reached", "x"), ("kills", {"value": 5}), ("sha256", None)):
        result = copy.deepcopy(SOUND)
        result["matrix"]["rows"][0][key] = value
        assert damage_of(result)
