"""Which groups of findings are new."""

from __future__ import annotations

from fuzztui.base.signals import signal_signature
from fuzztui.model.checkpoint import from_json, to_json
from fuzztui.model.finding_tallies import tallies
from fuzztui.model.fold import apply
from fuzztui.model.new_groups import groups_after, new_groups, target_groups
from fuzztui.model.state import State
from fuzztui.wire.events import Event, FindingDescribed, FindingSaved, Notified, Record


def state_of(*events: Event) -> State:
    state = State()
    apply(state, (Record(i, float(i), e) for i, e in enumerate(events, 1)))
    return state


def described(name: str, signature: str) -> FindingDescribed:
    return FindingDescribed("main", "crash", name, signature, "title")


def test_findings_of_which_only_the_signal_is_known_are_groups_of_their_own() -> None:
    by_signal = signal_signature(11)
    state = state_of(
        described("1", by_signal), described("2", by_signal), described("3", "A"),
        described("4", "A"),
    )  # fmt: skip
    assert len(list(target_groups(state))) == 3 == tallies(state)["crash"].groups
    assert [f.file for f in new_groups(state, {"main/4"}, 100.0)] == ["1", "2"]


def test_groups_since_a_record_are_those_of_which_the_first_finding_is_later() -> None:
    state = state_of(described("1", "A"), described("2", "B"), described("3", "A"))
    assert [groups_after(state, seq) for seq in range(4)] == [2, 1, 0, 0]


def test_what_was_reported_survives_a_checkpoint() -> None:
    state = state_of(
        FindingSaved("main", "crash", "1"), Notified("findings", "x", ["main/1"]),
        Notified("stall", "x"), Notified("stall", "x", problem="exit status 1"),
    )  # fmt: skip
    assert state.notified == {"main/1": 2.0} and state.stall_notified_t == 3.0
    again = from_json(to_json(state))
    assert (again.notified, again.stall_notified_t) == (state.notified, 3.0)
