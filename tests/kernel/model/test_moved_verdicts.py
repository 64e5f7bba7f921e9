"""Verdicts about groups whose line has moved."""

from __future__ import annotations

import pytest
from folding import fold
from restored import restored

from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.verdicts import given_about, verdict_of
from fuzztui.kernel.wire import events as ev

AT_10, AT_20, AT_30 = (f"E @ a.py:{line} in f" for line in (10, 20, 30))


def found(name: str, signature: str) -> ev.FindingDescribed:
    return ev.FindingDescribed("main", "crash", name, signature, "title")


def verdict(signature: str, name: str, **more: str) -> ev.VerdictsChanged:
    return ev.VerdictsChanged([{"signature": signature, "verdict": name, **more}])


def start(**more: object) -> ev.SupervisorStarted:
    return ev.SupervisorStarted(1, 0.0, "box", **more)  # type: ignore[arg-type]


def test_a_line_that_moved() -> None:
    state = fold(verdict(AT_10, "fixed"), start(), found("1", AT_20))
    assert verdict_of(state, AT_20) == "regression"
    given = given_about(state, AT_20)
    assert given is not None and given.signature == AT_10


def test_two_groups_for_one_verdict_are_new() -> None:
    state = fold(verdict(AT_10, "known"), found("1", AT_20), found("2", AT_30))
    assert {verdict_of(state, s) for s in (AT_20, AT_30)} == {"new"}
    state = fold(
        verdict(AT_10, "known"), verdict("E @ a.py:11 in f", "known"),
        found("1", AT_20), found("2", AT_30),
    )  # fmt: skip
    assert {verdict_of(state, s) for s in (AT_20, AT_30)} == {"known"}


@pytest.mark.parametrize(
    "events",
    [
        [verdict(AT_10, "known"), found("0", AT_10), found("1", AT_20)],  # its own group is here
        [verdict(AT_10, "known"), verdict(AT_30, "fixed"), found("1", AT_20)],  # which one?
        [verdict("F @ a.py:10 in f", "known"), found("1", AT_20)],
        [verdict("E @ a.py:10 in g", "known"), found("1", AT_20)],
    ],
)
def test_in_doubt_a_group_is_new(events: list[ev.Event]) -> None:
    assert verdict_of(fold(*events), AT_20) == "new"


def test_a_finding_that_gets_another_signature_leaves_its_group() -> None:
    state = fold(verdict(AT_10, "known"), found("1", AT_20), found("2", AT_30), found("2", "other"))
    assert verdict_of(state, AT_20) == "known"


def test_a_checkpoint_has_the_verdicts() -> None:
    events = [verdict(AT_10, "fixed", author="ada"), start(), found("1", AT_20), found("2", "B")]
    state = fold(*events)
    again = restored(to_json(state))
    assert again == state
    assert verdict_of(again, AT_20) == "regression"
