"""Titles of groups of findings that would be equal: what distinguishes them."""

from __future__ import annotations

import pytest
from folding import fold
from restored import restored

from fuzztui.kernel.model import checkpoint
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.frames import (
    LIBRARY,
    Basis,
    StackFrame,
    counting,
    frame_rows,
    signature_of,
)

STORE = "heap-buffer-overflow in store (WRITE)"
BASIS = Basis("heap-buffer-overflow", depth=3, more=("WRITE",))


def found(
    name: str, *functions: str, title: str = STORE, basis: Basis = BASIS, of_property: str = ""
) -> ev.Event:
    frames = [
        StackFrame("memcpy", kind=LIBRARY),
        *(StackFrame(function, "/src/harness.c", 16) for function in functions),
    ]
    counted = counting(frames, basis, ())
    signature = signature_of(basis, counted)
    return ev.FindingDescribed(
        "main", "crash", name, f"{of_property}\0{signature}" if of_property else signature, title,
        "harness.c:16 in store", frames=frame_rows(frames), basis=basis.row(), property=of_property,
    )  # fmt: skip


def titles(state: State) -> dict[str, str]:
    return {finding.file: finding.title for finding in state.findings.values()}


def more(state: State, event: ev.Event) -> list[str]:
    return sorted(apply(state, [ev.Record(state.seq + 1, state.t, event)]).findings)


def test_the_first_frame_that_differs_is_in_the_titles_from_the_second_group_on() -> None:
    state = fold(
        found("1", "store", "on_comment", "parse"), found("2", "store", "on_comment", "parse")
    )
    assert titles(state) == {"1": STORE, "2": STORE}
    changed = more(state, found("3", "store", "on_plain", "parse"))
    assert changed == ["main/1", "main/2", "main/3"]
    assert titles(state) == {
        "1": f"{STORE} via on_comment",
        "2": f"{STORE} via on_comment",
        "3": f"{STORE} via on_plain",
    }
    more(state, found("4", "store", "on_plain", "parse"))
    assert titles(state)["4"] == f"{STORE} via on_plain"


def test_with_a_third_group_a_title_may_grow_and_stays_true() -> None:
    state = fold(
        found("1", "store", "on_comment", "parse"), found("2", "store", "on_plain", "parse"),
        found("3", "store", "on_comment", "again"),
    )  # fmt: skip
    assert titles(state) == {
        "1": f"{STORE} via on_comment, parse",
        "2": f"{STORE} via on_plain",
        "3": f"{STORE} via on_comment, again",
    }
    more(state, found("4", "store"))  # a stack that ends where others differ
    assert titles(state)["4"] == STORE
    assert len(set(titles(state).values())) == 4


def test_each_moment_of_a_replay_has_the_titles_of_that_moment() -> None:
    events = [
        found("1", "store", "on_comment", "parse"), found("2", "store", "on_plain", "parse"),
        found("3", "store", "on_comment", "again"), ev.SkippedFrames(["store"]),
        ev.SkippedFrames(["on_*"]), ev.SkippedFrames([]),
    ]  # fmt: skip
    live = State()
    for n, event in enumerate(events, 1):
        later = restored(checkpoint.to_json(live)) if n > 1 else State()
        more(later, event)  # also from a checkpoint
        more(live, event)
        assert titles(live) == titles(fold(*events[:n])) == titles(later)


def test_a_group_that_has_joined_another_is_no_reason_any_more() -> None:
    state = fold(found("1", "store", "on_comment"), found("2", "store", "on_plain"))
    more(state, ev.SkippedFrames(["on_*"]))
    assert len(state.groups) == 1
    assert titles(state) == {"1": STORE, "2": STORE}


def test_a_description_that_comes_again_keeps_the_title() -> None:
    state = fold(found("1", "store", "on_comment"), found("2", "store", "on_plain"))
    more(state, found("1", "store", "on_comment"))
    assert titles(state)["1"] == f"{STORE} via on_comment"
    more(state, found("1", "store", "on_comment", title="another"))
    assert titles(state) == {"1": "another", "2": STORE}


@pytest.mark.parametrize("of_property", ["", "test_store"])
def test_groups_by_place_differ_by_their_property_only(of_property: str) -> None:
    """The place is next to the title everywhere."""
    by_place = Basis("ValueError")
    state = fold(
        found("1", "load", title="ValueError: 1", basis=by_place, of_property=of_property),
        found("2", "save", title="ValueError: 1", basis=by_place, of_property=of_property and "p"),
    )
    assert titles(state)["1"] == "ValueError: 1" + (" via test_store" if of_property else "")


def test_titles_without_frames_stay_as_they_are() -> None:
    state = fold(
        ev.FindingDescribed("main", "crash", "1", "SIGSEGV-1", "SIGSEGV"),
        ev.FindingDescribed("main", "crash", "2", "SIGSEGV-2", "SIGSEGV"),
        ev.FindingDescribed("main", "crash", "3", "", "could not be run again"),
    )
    assert titles(state) == {"1": "SIGSEGV", "2": "SIGSEGV", "3": "could not be run again"}


def test_a_finding_that_leaves_its_group_has_its_own_title_again() -> None:
    """As when it cannot be run again any more: it has no signature then."""
    state = fold(
        found("1", "store", "on_comment"), found("2", "store", "on_plain"),
        found("3", "store", "on_plain"),
    )  # fmt: skip
    more(state, ev.FindingDescribed("main", "crash", "3", "", STORE))
    assert titles(state) == {
        "1": f"{STORE} via on_comment",
        "2": f"{STORE} via on_plain",
        "3": STORE,
    }
