"""Verdicts about groups whose line has moved."""

from __future__ import annotations

import pytest
from restored import restored

from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.verdicts import given_about, verdict_of
from fuzztui.kernel.wire.events import (
    Event,
    FindingDescribed,
    Record,
    SupervisorStarted,
    VerdictsChanged,
)

AT_10, AT_20, AT_30 = (f"E @ a.py:{line} in f" for line in (10, 20, 30))


def state_of(*events: Event) -> State:
    state = State()
    apply(state, (Record(i, float(i), e) for i, e in enumerate(events, 1)))
    return state


def found(name: str, signature: str) -> FindingDescribed:
    return FindingDescribed("main", "crash", name, signature, "title")


def verdict(signature: str, name: str, **more: str) -> VerdictsChanged:
    return VerdictsChanged([{"signature": signature, "verdict": name, **more}])


def start(**more: object) -> SupervisorStarted:
    return SupervisorStarted(1, 0.0, "box", **more)  # type: ignore[arg-type]


def test_a_line_that_moved() -> None:
    state = state_of(verdict(AT_10, "fixed"), start(), found("1", AT_20))
    assert verdict_of(state, AT_20) == "regression"
    given = given_about(state, AT_20)
    assert given is not None and given.signature == AT_10


def test_two_groups_for_one_verdict_are_new() -> None:
    state = state_of(verdict(AT_10, "known"), found("1", AT_20), found("2", AT_30))
    assert {verdict_of(state, s) for s in (AT_20, AT_30)} == {"new"}
    state = state_of(
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
def test_in_doubt_a_group_is_new(events: list[Event]) -> None:
    assert verdict_of(state_of(*events), AT_20) == "new"


def test_a_finding_that_gets_another_signature_leaves_its_group() -> None:
    state = state_of(
        verdict(AT_10, "known"), found("1", AT_20), found("2", AT_30), found("2", "other")
    )
    assert verdict_of(state, AT_20) == "known"


def test_a_checkpoint_has_the_verdicts() -> None:
    events = [verdict(AT_10, "fixed", author="ada"), start(), found("1", AT_20), found("2", "B")]
    state = state_of(*events)
    again = restored(to_json(state))
    assert again == state
    assert verdict_of(again, AT_20) == "regression"
