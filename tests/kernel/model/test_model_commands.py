"""Which commands hold for instances that start later."""

import pytest
from folding import fold
from restored import restored

from fuzztui.kernel.model import commands
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.commands import missed_commands
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import RECENT_COMMANDS, State
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import (
    COMMAND_NAMES,
    IgnoreGoal,
    MoveMutants,
    Pause,
    PinGoal,
    SetMixture,
    SetTargetedShare,
    SkipEntry,
    WeighType,
)
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued, CommandRejected, Record


def issued(number, command):
    return CommandIssued(f"c{number}", encode_command(command), "ann")


def given(*numbered, state=None):
    """The state after ``main`` has applied these commands."""
    for number, command in numbered:
        state = fold(issued(number, command), CommandApplied(f"c{number}", "main"), state=state)
    return state


def test_only_what_sets_something_for_all_holds_later():
    state = given(
        (1, Pause()), (2, SkipEntry(3)), (3, MoveMutants("m")), (4, SetMixture(0.1, 0.8, 0.1)),
        (5, WeighType("a", 2, "main")), (6, WeighType("b", 2)), (7, SetMixture(0.2, 0.8, 0.0)),
    )  # fmt: skip
    assert missed_commands(state, {}) == [WeighType("b", 2), SetMixture(0.2, 0.8, 0.0)]
    assert restored(to_json(state)) == state


def test_every_lasting_command_can_name_an_instance():
    lasting = [cls for cls in COMMAND_NAMES.values() if cls.lasting]
    assert all("instance" in cls.__dataclass_fields__ and cls.for_all for cls in lasting)


def test_a_goal_that_was_pinned_and_ignored_needs_all_these_commands():
    """One ends the other, so the last of each does not say what has become of it."""
    numbered = list(
        enumerate(
            [
                PinGoal("a"), PinGoal("b"), IgnoreGoal("b"), IgnoreGoal("b", False),
                IgnoreGoal("c"), PinGoal("c"), PinGoal("d"), PinGoal(""),
            ],
            1,
        )
    )  # fmt: skip
    state = given(*numbered)
    # Of a and d, which nobody has ignored, the last pin says all.
    assert missed_commands(state, {}) == [c for n, c in numbered if n in (2, 3, 4, 5, 6, 8)]
    received = {f"c{n}": c for n, c in numbered[:3]}
    assert missed_commands(state, received) == [c for n, c in numbered if n in (4, 5, 6, 8)]


def test_who_was_sent_another_since_keeps_it():
    state = given(
        (5, SetTargetedShare(0.5)), (7, SetTargetedShare(0.7, "s1")), (9, WeighType("a", 2))
    )
    assert missed_commands(state, {"c5": SetTargetedShare(0.5), "c9": WeighType("a", 2)}) == []
    s1 = {"c7": SetTargetedShare(0.7, "s1"), "c9": WeighType("a", 2)}
    assert missed_commands(state, s1) == []
    assert missed_commands(state, {}) == [SetTargetedShare(0.5), WeighType("a", 2)]
    given((11, SetTargetedShare(0.1)), state=state)
    assert missed_commands(state, s1) == [SetTargetedShare(0.1)]


def test_what_all_instances_rejected_replaces_nothing():
    state = given((1, PinGoal("a")), (2, SetTargetedShare(0.3)))
    fold(
        issued(3, PinGoal("zzz")), CommandRejected("c3", "main", "there is no such goal"),
        issued(4, SetTargetedShare(0.9)), CommandRejected("c4", "main"), CommandApplied("c4", "s1"),
        issued(5, SetTargetedShare(7)),
        state=state,
    )  # fmt: skip
    assert missed_commands(state, {}) == [PinGoal("a"), SetTargetedShare(0.9)]


def test_what_one_instance_applied_stays_although_another_rejected_it():
    state = given((1, SetMixture(0.1, 0.8, 0.1)))
    fold(CommandRejected("c1", "s1", "full disk"), state=state)
    assert missed_commands(state, {}) == [SetMixture(0.1, 0.8, 0.1)]


def test_unanswered_commands_count_and_late_answers_to_replaced_ones_do_not():
    state = given((1, WeighType("a", 2)))
    fold(issued(2, WeighType("a", 3)), issued(3, WeighType("a", 4)), state=state)
    assert missed_commands(state, {}) == [WeighType("a", 4)]
    fold(CommandApplied("c3", "main"), CommandApplied("c2", "s1"), state=state)
    assert missed_commands(state, {}) == [WeighType("a", 4)]


def test_they_outlast_the_list_of_commands():
    state = given((1, PinGoal("a")))
    given(*((n, SkipEntry(n, "main")) for n in range(2, RECENT_COMMANDS + 9)), state=state)
    assert "c1" not in state.commands
    assert missed_commands(state, {}) == [PinGoal("a")]


def test_they_are_bounded(monkeypatch):
    monkeypatch.setattr(commands, "MAX_LASTING", 3)
    state = given(*((n, WeighType(f"t{n}", 2)) for n in range(9)))
    assert [c.type for c in missed_commands(state, {})] == ["t6", "t7", "t8"]


@pytest.mark.parametrize("id_", ["", "c", "x7", "c" + "9" * 5000, "c²", "C7"])
def test_ids_that_are_not_the_supervisors(id_):
    state = fold(CommandIssued(id_, encode_command(PinGoal("a"))), CommandApplied(id_, "main"))
    assert missed_commands(state, {}) == [PinGoal("a")]
    assert missed_commands(state, {"c3": PinGoal("b")}) == []


def test_commands_of_a_hub_are_as_many_as_others():
    state = State()
    given = [("log.c3", WeighType("a", 2)), ("log.c9", WeighType("b", 3)), ("c9", PinGoal("x"))]
    for id_, command in given:
        apply(state, [Record(state.seq + 1, 0.0, CommandIssued(id_, encode_command(command)))])
        apply(state, [Record(state.seq + 1, 0.0, CommandApplied(id_, "main"))])
    missed = missed_commands(state, {})
    assert len(missed) == 3
    assert all(command in missed for _, command in given)
    assert missed_commands(state, dict(given)) == []
