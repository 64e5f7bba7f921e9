"""Receipts of steering: what the subjects of a command had when it was applied, and have now."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from folding import fold

from fuzztui.kernel.model.checkpoint import head_to_state, tables, to_json
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.receipts import MAX_SUBJECTS, receipt_of, receipts, receipts_list
from fuzztui.kernel.model.state import RECENT_COMMANDS, State
from fuzztui.kernel.wire import commands as cmd
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command

A, B, C = (f"m:f:math:{n}:-" for n in range(3))


def begun(*names: str, mutants: int = 3) -> State:
    """A campaign whose mutants have had 100 runs each, which took a second in all."""
    state = fold(ev.CampaignStarted("c", "mu2"), ev.CampaignState("running"))
    rows = [{"id": f"m:f:math:{n}:-", "line": n, "function": "f"} for n in range(mutants)]
    for name in names or ("main",):
        fold(ev.InstanceState(name, "running", 1), state=state)
        fold(ev.MutantsFound(name, "m", "m.py", "/m.py", rows), state=state)
        ran(state, {row["id"]: 100 for row in rows}, 1.0, 100 * mutants, name)
    return state


def ran(state: State, runs: dict[str, int], seconds: float, whole: int, name: str = "main"):
    """An instance reports how often mutants ran, and how long all runs took."""
    counts = {key: [n, n, n] for key, n in runs.items()}
    stats = ev.MutationStats(name, mutants_s=seconds, runs=whole)
    return fold(ev.MutantRuns(name, counts), stats, state=state)


def give(
    state: State, command: cmd.Command, *names: str, undoes: tuple[str, ...] = (), by: str = "ann"
) -> str:
    """Give a command, which these instances (``main``) apply; return its id."""
    key = f"c{state.seq + 1}"
    fold(ev.CommandIssued(key, encode_command(command), by, [*undoes]), state=state)
    fold(*(ev.CommandApplied(key, name) for name in names or ("main",)), state=state)
    return key


def text(state: State, key: str, subject: str = "") -> str:
    receipt = receipt_of(state, key, subject)
    return "" if receipt is None else receipt.text


def test_a_promoted_mutant_shows_its_runs_its_kills_and_what_they_cost():
    state = begun()
    key = give(state, cmd.PromoteMutants(A))
    assert text(state, key) == "runs 100 -> 100, kills 0, about 0.0 s spent"
    ran(state, {A: 400, B: 200}, 5.0, 700)
    assert text(state, key) == "runs 100 -> at least 400, kills 0, about 3.0 s spent"
    fold(ev.MutantState("main", A, "killed", "main/3", "value", 9), state=state)
    assert text(state, key).split(", ")[1] == "kills 1"


def test_a_skipped_mutant_shows_what_is_saved():
    state = begun()
    at = state.t  # a third of a second of runs until then
    key = give(state, cmd.SkipMutants(A))
    applied = state.t
    fold(*[ev.Message("info", "later")] * 90, state=state)
    saved = 1 / 3 / applied * 90
    assert text(state, key) == f"runs 100 -> 100, kills 0, about {saved:.1f} s saved"
    assert at < applied


@pytest.mark.parametrize("others", [0, 2])
def test_an_undo_ends_the_effect(others):
    state = begun()
    key = give(state, cmd.PromoteMutants(A))
    ran(state, {A: 400}, 5.0, 700)
    given = [give(state, cmd.PromoteMutants(C)) for _ in range(others)]
    back = give(state, cmd.RestoreMutants(f"id={A}"), undoes=(key, *given))
    until = state.t
    ran(state, {A: 900}, 9.0, 1500)
    receipt = receipt_of(state, key)
    assert receipt.effect.until == until
    assert receipt.text.startswith("runs 100 -> at least 400, ")
    assert receipt.text.endswith(" (undone)")
    assert receipt_of(state, back).what == f"undo of promote-mutants {A}"
    assert text(state, back).startswith("runs 400 -> at least 900, ")


def test_a_later_command_takes_over_its_own_subjects_only():
    state = begun()
    both = give(state, cmd.SkipMutants(f"id={A}|{B}"))
    assert text(state, both, A) == "runs 100 -> 100, kills 0, about 0.0 s saved"
    one = give(state, cmd.PromoteMutants(A))
    ran(state, {A: 700, B: 100}, 5.0, 900)
    assert text(state, both).startswith("2 mutants: runs 200 -> 200, kills 0, about ")
    assert receipt_of(state, both).effect.until == -1, "the effect on B goes on"
    assert text(state, one).startswith("runs 100 -> at least 700, ")
    give(state, cmd.MarkEquivalent(B))
    assert receipt_of(state, both).effect.until == state.t
    assert receipt_of(state, both).effect.ended == "replaced"


def test_the_selection_is_that_of_when_the_command_was_given():
    """Engines report the new states before they answer."""
    state = begun()
    fold(ev.MutantState("main", A, "skipped"), state=state)
    fold(ev.MutantState("main", C, "killed", "main/1"), state=state)
    issued = ev.CommandIssued("c9", encode_command(cmd.PromoteMutants("state=skipped")))
    fold(issued, ev.MutantState("main", A, "alive", steer="promoted"), state=state)
    fold(ev.CommandApplied("c9", "main"), state=state)
    assert receipt_of(state, "c9").effect.count == 1
    whole = give(state, cmd.PromoteMutants("function=f"))
    assert receipt_of(state, whole).effect.count == 2, "a killed mutant cannot be promoted"


def test_a_requeued_mutant_is_killed_and_run_again():
    state = begun("main", "s1")
    fold(ev.MutantState("s1", A, "killed", "s1/1", "value", 3), state=state)
    issued = ev.CommandIssued("c9", encode_command(cmd.RequeueMutants(A)))
    fold(issued, ev.MutantState("main", A, "pending"), state=state)
    fold(ev.CommandApplied("c9", "main"), ev.MutantState("s1", A, "pending"), state=state)
    fold(ev.CommandApplied("c9", "s1"), state=state)
    assert text(state, "c9").startswith("runs 0 -> 0, kills 0, ")
    fold(ev.MutantState("main", A, "killed", "main/7", "value", 8), state=state)
    ran(state, {A: 100}, 2.0, 400)
    assert text(state, "c9").startswith("runs 0 -> at least 100, kills 1, "), "as often as before"


def test_of_very_many_mutants_the_first_are_measured():
    state = begun(mutants=MAX_SUBJECTS + 100)
    key = give(state, cmd.SkipMutants("function=f"))
    assert text(state, key).startswith(f"{MAX_SUBJECTS} of 600 mutants: runs 50,000 -> 50,000")
    assert len(state.effects[key].then) == MAX_SUBJECTS


def test_a_mutant_of_a_worklist_has_turns():
    state = fold(
        ev.CampaignStarted("c", "mu2"),
        ev.CampaignState("running"),
        ev.PhaseStarted("mutants", {"mutants_s": 900, "each_s": 9}),
        ev.MutantsFound("", "m", "m.c", "/m.c", [{"id": A, "line": 3, "place": 1.0}]),
    )
    key = give(state, cmd.MoveMutants(A, "first"))
    assert text(state, key) == "turns 0, 0.0 s of fuzzing, kills 0, edges brought 0"
    fold(ev.MutantProgress(A, "fuzzing", "m1"), state=state)
    fold(*[ev.Message("info", "later")] * 8, state=state)
    fold(ev.MutantProgress(A, "done", "m1", brought={"edges": 4, "kills": 1}), state=state)
    fold(ev.MutantState("m1", A, "killed", "m1/crashes/1"), state=state)
    assert text(state, key) == "turns 1, 9.0 s of fuzzing, kills 1, edges brought 4"


def saved(n: int, *src: int, name: str = "main", **more: object) -> ev.Event:
    return ev.EntrySaved(name, n, f"queue/id:{n:06}", [*src], **more)


def test_an_entry_shows_what_was_made_from_it_since():
    state = fold(ev.InstanceState("main", "running", 1), saved(0), saved(1, 0, cov=True))
    key = give(state, cmd.PromoteEntry(0))
    assert text(state, key) == "entries made from it 0, with new edges 0, findings 0"
    crash = ev.FindingSaved("main", "crash", "crashes/id:000000", id=0, src=[3])
    fold(saved(2, 0, cov=True), saved(3, 2), saved(4, 9), saved(5, 1), crash, state=state)
    fold(saved(0, 3, name="s1", sync="main"), state=state)
    described = ev.EntryDescribed("s1", 0, ["edge"], kills=2)
    fold(described, ev.MutantsFound("main", "m", "m.py", "", [{"id": A}]), state=state)
    assert text(state, key) == "entries made from it 4, with new edges 2, kills 2, findings 1"
    give(state, cmd.SkipEntry(0, "main"))
    fold(saved(6, 0), state=state)
    assert text(state, key).startswith("entries made from it 4, ")
    assert receipt_of(state, key).effect.ended == "replaced"


def test_entries_made_from_older_children_count():
    state = fold(ev.InstanceState("main", "running", 1), saved(0), saved(1, 0), saved(2, 1))
    key = give(state, cmd.PromoteEntry(0))
    fold(saved(3, 2, cov=True), saved(4, 3), state=state)
    assert text(state, key) == "entries made from it 2, with new edges 1, findings 0"


def test_a_command_for_all_instances_ends_that_of_one():
    state = fold(*(ev.InstanceState(name, "running", 1) for name in ("a", "b")))
    one = give(state, cmd.Pause("a"), "a")
    other = give(state, cmd.Pause("b"), "b")
    give(state, cmd.Resume("b"), "b")
    assert receipt_of(state, one).effect.ended == ""
    assert receipt_of(state, other).effect.ended == "replaced"
    give(state, cmd.Resume(), "a", "b")
    assert receipt_of(state, one).effect.ended == "replaced"


def test_a_second_pin_ends_the_first():
    first, second = "a.py:1:then", "a.py:2:then"
    state = fold(
        *(ev.InstanceState(name, "running", 1) for name in ("main", "s1")),
        ev.GoalsUncovered("main", 1, {first: {}, second: {}}),
    )
    ignored = give(state, cmd.IgnoreGoal(first))
    one = give(state, cmd.PinGoal(first))
    assert receipt_of(state, ignored).effect.ended == "replaced"
    give(state, cmd.PinGoal(second, "s1"))
    assert receipt_of(state, one).effect.ended == "", "main still has it"
    other = give(state, cmd.PinGoal(second))
    assert receipt_of(state, one).effect.ended == "replaced"
    assert receipt_of(state, other).effect.ended == ""


def test_instances_weights_mixtures_goals_and_properties_have_receipts():
    state = fold(
        ev.InstanceState("main", "running", 1),
        ev.InstanceState("s1", "running", 1),
        ev.TargetingStats("main", 0.5, targets=2, uncovered=2, names=["T"], picks=[5], new_arms=[1],
                          pinned="a.py:1:then"),
        ev.GoalsUncovered("main", 1, {"a.py:1:then": {}, "a.py:2:then": {}}),
        ev.MutatorStats("main", 0.5, 0.3, 0.2, names=["swap", "havoc"], tried=[7, 8],
                        applied=[7, 8], found=[1, 2], crashes=[0, 0]),
        ev.PropertyFigures("main", {"t.py::p": {"trials": 10, "entries": 2}}),
    )  # fmt: skip
    keys = [
        give(state, command)
        for command in (
            cmd.Pause(), cmd.WeighType("T", 4.0), cmd.WeighType("T", 2.0, "main"),
            cmd.SetTargetedShare(0.7), cmd.PinGoal("a.py:1:then"), cmd.IgnoreGoal("a.py:2:then"),
            cmd.WeighMutator("swap", 3.0), cmd.SetMixture(0.2, 0.6, 0.2),
            cmd.WeighProperty("t.py::p", 2.0),
        )
    ]  # fmt: skip
    fold(
        ev.Stats("main", execs=100, corpus=3),
        ev.Stats("s1", execs=50),
        ev.TargetingStats("main", 0.5, targets=2, uncovered=1, names=["T"], picks=[25],
                          new_arms=[3]),
        ev.GoalsUncovered("main", 9, gone=["a.py:1:then"]),
        ev.MutatorStats("main", 0.5, 0.3, 0.2, names=["swap", "havoc"], tried=[70, 80],
                        applied=[70, 80], found=[4, 6], crashes=[0, 0]),
        ev.PropertyFigures("main", {"t.py::p": {"trials": 30, "entries": 4, "findings": 1}}),
        state=state,
    )  # fmt: skip
    assert [text(state, key) for key in keys] == [
        "executions 0 -> 150, entries 0 -> 3",
        "drawn 5 -> 25, branches first covered 1 -> 3",
        "drawn 5 -> 25, branches first covered 1 -> 3",
        "drawn 5 -> 25, branches first covered 1 -> 3",
        "covered 0 -> 1",
        "covered 0 -> 0",
        "drawn 7 -> 70, finds 1 -> 4",
        "finds of havoc 2 -> 6, finds of text 1 -> 4, finds of splice 0 -> 0",
        "trials 10 -> 30, entries 2 -> 4, findings 0 -> 1",
    ]


@pytest.mark.parametrize(
    "command",
    [
        cmd.Stop(), cmd.AcceptMutants(A), cmd.JudgeFinding("S", "known"), cmd.AddSeed("/x"),
        cmd.SkipCurrent(), cmd.SkipMutants("m:unknown"), cmd.PinGoal(""), cmd.SkipEntry(77),
        cmd.WeighType("nowhere", 2.0),
    ],
    ids=lambda command: command.summary,
)  # fmt: skip
def test_a_command_without_an_effect_that_can_be_measured_has_no_receipt(command):
    state = begun()
    give(state, command)
    assert list(receipts(state)) == []
    assert state.effects == {}


def test_a_rejected_command_has_no_receipt_unless_another_instance_applies_it():
    state = begun("main", "s1")
    issued = ev.CommandIssued("c9", encode_command(cmd.PromoteMutants(A)))
    fold(issued, ev.CommandRejected("c9", "main", "no"), state=state)
    assert list(receipts(state)) == []
    fold(ev.CommandApplied("c9", "s1"), state=state)
    assert [of.command.id for of in receipts(state)] == ["c9"]


def test_the_first_instance_to_apply_decides_also_on_hosts():
    state = begun("h1_main", "h2_main")
    key = f"c{state.seq + 1}"
    fold(ev.CommandIssued(key, encode_command(cmd.PromoteMutants(A))), state=state)
    ran(state, {A: 150}, 2.0, 400, "h1_main")
    for host, n in (("h2", 7), ("h1", 8)):
        applied = ev.CommandApplied(key, f"{host}_main")
        seq = state.seq + 1
        apply(state, [ev.Record(seq, float(seq), applied, host=host, host_seq=n, host_t=1.0)])
        ran(state, {A: 200}, 2.0, 400, "h1_main")
    assert receipt_of(state, key).effect.t == state.t - 5, "the first to apply the command"
    assert text(state, key).startswith("runs 300 -> 300, ")


def test_what_an_instance_reports_before_its_own_answer_came_before_the_command():
    state = begun("main", "s1", "s2")
    key = f"c{state.seq + 1}"
    fold(ev.CommandIssued(key, encode_command(cmd.PromoteMutants(A))), state=state)
    fold(ev.CommandApplied(key, "main"), state=state)
    ran(state, {A: 150}, 2.0, 400, "main")
    ran(state, {A: 900}, 2.0, 400, "s1")
    ran(state, {A: 800}, 2.0, 400, "s2")
    assert text(state, key).startswith("runs 100 -> at least 150, "), "of those that have answered"
    fold(ev.CommandApplied(key, "s1"), ev.CommandRejected(key, "s2", "no"), state=state)
    assert text(state, key).startswith("runs 1,800 -> at least 1,850, ")
    ran(state, {A: 950}, 2.0, 400, "s1")
    fold(ev.CommandApplied(key, "s1"), ev.InstanceState("s3", "running", 1), state=state)
    ran(state, {A: 50}, 2.0, 400, "s3")
    assert text(state, key).startswith("runs 1,800 -> at least 1,950, "), "also a later instance's"


def test_receipts_are_forgotten_with_their_commands():
    state = begun()
    first = give(state, cmd.PromoteMutants(A))
    for _ in range(RECENT_COMMANDS):
        give(state, cmd.PromoteMutants(B))
    assert first not in state.effects
    assert len(state.effects) <= RECENT_COMMANDS
    assert sum(1 for of in receipts(state) if not of.effect.ended) == 1


def test_a_checkpoint_at_any_record_gives_the_same_receipts():
    state = begun()
    records: list[ev.Record] = []

    def then(*events: ev.Event) -> None:
        start = state.seq + len(records) + 1
        records.extend(ev.Record(n, float(n), e) for n, e in enumerate(events, start))

    commands = cmd.SkipMutants(f"id={A}|{B}"), cmd.PromoteMutants(A), cmd.RequeueMutants("line>0")
    for n, command in enumerate(commands):
        issued = ev.CommandIssued(f"c{n}", encode_command(command), "ann", ["c1"] * (n > 1))
        then(issued, ev.CommandApplied(f"c{n}", "main"))
        then(ev.MutantRuns("main", {A: [9, 9, 200 + n]}), ev.MutantState("main", B, "killed"))
    base = json.loads(json.dumps(to_json(state)))
    ends = []
    for at in range(len(records) + 1):
        one = head_to_state(json.loads(json.dumps(base["head"])), tables(base, {}), [])
        one.seq, one.t = state.seq, state.t
        apply(one, records[:at])
        stored = json.loads(json.dumps(to_json(one)))
        again = head_to_state(stored["head"], tables(stored, {}), [])
        assert again.effects == one.effects
        apply(again, [replace(record) for record in records[at:]])
        ends.append(receipts_list(again))
    assert len(ends[0]) == len(commands)
    assert all(end == ends[0] for end in ends)


def test_the_json_names_each_figure():
    state = begun()
    key = give(state, cmd.PromoteMutants(A))
    (row,) = receipts_list(state)
    assert json.loads(json.dumps(row)) == row
    assert {name: row[name] for name in ("id", "by", "kind", "subjects", "measured", "ended")} == {
        "id": key, "by": "ann", "kind": "mutant", "subjects": 1, "measured": 1, "ended": None,
    }  # fmt: skip
    assert row["what"] == f"promote-mutants {A}"
    assert row["figures"][0] == {
        "name": "runs", "then": 100, "now": 100, "unit": "", "how": "",
    }  # fmt: skip
    assert row["figures"][2]["how"] == "about"
    assert row["text"] == text(state, key)


def test_added_seeds_show_what_came_of_them():
    state = fold(ev.CampaignStarted("c", "zest"), ev.CampaignState("running"))
    fold(ev.InstanceState("main", "running", 1), state=state)
    fold(ev.EntrySaved("main", 0, "queue/id:000000", [2], "", "added", cov=True), state=state)
    command = encode_command(cmd.AddSeed("/seeds"))
    fold(ev.CommandIssued("c9", command), state=state)
    fold(ev.CommandApplied("c9", detail="added", made=["added/3", "added/5"]), state=state)
    none = "entries made from it 0, with new edges 0, findings 0"
    assert text(state, "c9") == f"3 seeds: {none}"
    fold(
        ev.EntrySaved("main", 1, "queue/id:000001", [4], "", "added", cov=True),
        ev.EntrySaved("main", 2, "queue/id:000002", [1], "havoc"),
        ev.EntrySaved("main", 3, "queue/id:000003", [0], "havoc"),
        ev.EntrySaved("main", 4, "queue/id:000004", [9], "", "added"),
        state=state,
    )
    assert text(state, "c9") == "3 seeds: entries made from it 2, with new edges 1, findings 0"
    fold(ev.CommandIssued("c10", command), state=state)
    fold(ev.CommandApplied("c10", made=["added/6", "added/6"]), state=state)
    assert receipt_of(state, "c9").effect.until == -1, "other seeds end no effect"


@pytest.mark.parametrize(
    "made", [["added/5", "added/3"], ["added", "added/3"], ["x/1", "x/9" + "9" * 30], ["", ""]]
)
def test_keys_of_seeds_that_make_no_sense_make_no_receipt(made):
    state = begun()
    fold(ev.CommandIssued("c9", encode_command(cmd.AddSeed("/seed"))), state=state)
    fold(ev.CommandApplied("c9", made=made), state=state)
    assert receipt_of(state, "c9") is None


def test_an_exact_pass_shows_its_runs_and_kills():
    state = begun()
    passed = give(state, cmd.ExactPass())
    ran(state, {A: 400}, 5.0, 700)
    fold(ev.MutantState("main", A, "killed", "main/3", "value", 9), state=state)
    assert text(state, passed) == "runs of mutants 300 -> 700, killed 0 -> 1"
