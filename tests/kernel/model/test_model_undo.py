"""Undo: whatever a user has steered, undoing all of it leads back to the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzztui.features.mutants.undo import MAX_MUTANTS
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.inverses import UndoError
from fuzztui.kernel.model.state import CommandStatus, State
from fuzztui.kernel.model.undo import fold_before, is_undoable, last_step, undo, why_not
from fuzztui.kernel.wire import commands as cmd
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.selection import parse_selection

NAMES = ("main", "s1")
GOALS = ("a.py:1:then", "a.py:1:else", "b.py:9:then")
TYPES = ("datetime.date", "pathlib.Path")
MUTANTS = tuple(f"m:f{n % 2}:math:{n}:-" for n in range(6))
_STEERS = {
    cmd.SkipEntry: "skipped",
    cmd.PromoteEntry: "promoted",
    cmd.DemoteEntry: "demoted",
    cmd.ResetEntry: "",
}


class Campaign:
    """A log, the state that is folded from it, and what engines report after each command."""

    def __init__(self) -> None:
        self.records: list[ev.Record] = []
        self.state = State()
        self.record(
            ev.CampaignStarted("c", "mu2", instances=list(NAMES)), ev.CampaignState("running")
        )
        for name in NAMES:
            self.record(
                ev.InstanceState(name, "running", 1),
                *(ev.EntrySaved(name, n, f"queue/id:{n:06}") for n in range(3)),
                ev.TargetingStats(
                    name, 0.5, targets=9, uncovered=3, names=list(TYPES), distances=[1, 2],
                    weights=[1.0, 1.0], factors=[1.0, 1.0], probabilities=[500_000, 500_000],
                    picks=[0, 0], matches=[0, 0], misses=[0, 0], new_arms=[0, 0],
                ),
                ev.GoalsUncovered(name, 1, {goal: {"types": [[TYPES[0], 1]]} for goal in GOALS}),
                ev.MutatorStats(name, 0.5, 0.3, 0.2, names=["swap-args", "havoc"]),
            )  # fmt: skip
        rows = [
            {"id": id_, "line": n, "function": id_.split(":")[1], "operator": "math"}
            for n, id_ in enumerate(MUTANTS)
        ]
        self.record(
            ev.MutantsFound("main", "m", "m.py", "/m.py", rows),
            ev.MutantState("main", MUTANTS[4], "alive"),
            ev.MutantState("main", MUTANTS[5], "killed", "main/2", "value", 7, "returned 1"),
        )

    def record(self, *events: ev.Event) -> None:
        start = len(self.records) + 1
        new = [ev.Record(n, float(n), event) for n, event in enumerate(events, start)]
        self.records += new
        apply(self.state, new)

    def give(
        self, command: cmd.Command, by: str = "ann", undoes: Sequence[str] = (), step: str = ""
    ) -> str:
        """Issue a command, and report what an engine does. Returns its id."""
        key = f"c{len(self.records) + 1}"
        self.record(ev.CommandIssued(key, encode_command(command), by, [*undoes], step))
        name = getattr(command, "instance", "")
        match command:
            case cmd.EntryCommand():
                steer = _STEERS[type(command)]
                self.record(ev.EntryDescribed(name, command.entry, steer=steer))
            case cmd.MutantCommand():
                self.record(*self._steered(command))
            case cmd.Pause() | cmd.Resume():
                self._pause(command)
            case cmd.JudgeFinding():
                row = {"signature": "S", "verdict": command.verdict, "note": command.note}
                self.record(ev.VerdictsChanged([row]))
            case _:
                pass  # the fold itself knows what the command has set
        self.record(*(ev.CommandApplied(key, one) for one in ([name] if name else NAMES)))
        return key

    def _pause(self, command: cmd.Pause | cmd.Resume) -> None:
        state = "paused" if isinstance(command, cmd.Pause) else "running"
        for name in [command.instance] if command.instance else NAMES:
            self.record(ev.InstanceState(name, state, 1))
        all_ = all(i.state == "paused" for i in self.state.instances.values())
        self.record(ev.CampaignState("paused" if all_ else "running"))

    def _steered(self, command: cmd.MutantCommand) -> list[ev.Event]:
        events: list[ev.Event] = []
        for m in parse_selection(command.select).of(self.state.mutants.values()):
            killed = m.state == "killed"
            now = ev.MutantState("main", m.id, m.state, m.killer, m.oracle, m.trial, m.detail,
                              m.reason, m.steer)  # fmt: skip
            match command:
                case cmd.SkipMutants() if not killed:
                    now = replace(now, state="skipped", reason="", steer="")
                case cmd.MarkEquivalent() if not killed:
                    now = replace(now, state="equivalent", reason=command.because, steer="")
                case cmd.PromoteMutants() if not killed:
                    now = replace(now, state=self._base(m.id), reason="", steer="promoted")
                case cmd.MoveMutants() if not killed:
                    now = replace(now, steer=command.to)
                case cmd.RequeueMutants():
                    now = ev.MutantState("main", m.id, "pending")
                case cmd.RestoreMutants():
                    state = command.state or self._base(m.id)
                    now = replace(now, state=state, reason=command.because, steer=command.steer)
                    if kill := command.kills.get(m.id):
                        now = ev.MutantState("main", m.id, "killed", *kill, steer=command.steer)
                case _:
                    pass
            events.append(now)
        return events

    def _base(self, id_: str) -> str:
        """The mutant's state by its results: the last one that was no verdict."""
        reported = (r.event for r in reversed(self.records) if isinstance(r.event, ev.MutantState))
        states = (e.state for e in reported if e.id == id_)
        return next((s for s in states if s not in ("skipped", "equivalent")), "pending")

    def before(self, status: CommandStatus) -> State:
        return fold_before(State(), iter(self.records), status)

    def undo(self, by: str = "ann", wanted: str = "") -> None:
        found = undo(self.state, by, self.before, wanted)
        for command, undoes in found.commands:
            self.give(command, by, undoes)

    @property
    def steering(self) -> object:
        """All that users have set."""
        s = self.state
        return (
            s.state,
            {i.id: i.state for i in s.instances.values()},
            {e.key: e.steer for e in s.entries.values()},
            {
                m.id: (m.state, m.reason, m.steer, m.killer, m.oracle, m.trial, m.detail)
                for m in s.mutants.values()
            },
            {
                f.instance: (f.adaptive or f.targeted, f.pinned, sorted(f.ignored), f.weights)
                for f in s.types.values()
            },
            {
                f.instance: (f.havoc, f.text, f.splice, f.adaptive, f.wishes or [1.0, 1.0])
                for f in s.mutators.values()
            },
        )  # fmt: skip


names = st.sampled_from(("", *NAMES))
entry_commands = [st.builds(kind, st.integers(0, 2), st.sampled_from(NAMES)) for kind in _STEERS]
selections = st.sampled_from(
    (
        *MUTANTS,
        "function=f0",
        "function=f*",
        "function=f1,state=alive",
        "id=" + "|".join(MUTANTS[1:4]),
    )
)
mutant_commands = [
    st.builds(cmd.SkipMutants, selections),
    st.builds(cmd.PromoteMutants, selections),
    st.builds(cmd.MoveMutants, selections, st.sampled_from(("first", "last"))),
    st.builds(cmd.MarkEquivalent, selections, st.sampled_from(("", "the same", "dead code"))),
    st.builds(cmd.RequeueMutants, selections),
]
type_commands = [
    st.builds(cmd.WeighType, st.sampled_from(TYPES), st.sampled_from((0.0, 0.5, 4.0)), names),
    st.builds(cmd.PinGoal, st.sampled_from(("", *GOALS)), names),
    st.builds(cmd.IgnoreGoal, st.sampled_from(GOALS), st.booleans(), names),
    st.builds(cmd.SetTargetedShare, st.sampled_from((0.0, 0.25, 1.0)), names, st.booleans()),
    st.builds(cmd.WeighMutator, st.just("swap-args"), st.sampled_from((0.0, 1.0, 2.0)), names),
    st.builds(
        lambda havoc, adaptive, name: cmd.SetMixture(havoc, 1 - havoc, 0.0, adaptive, name),
        st.sampled_from((0.0, 0.5, 0.75)), st.booleans(), names,
    ),
]  # fmt: skip
pauses = [st.builds(cmd.Pause, names), st.builds(cmd.Resume, names)]

kinds = (*entry_commands, *mutant_commands, *type_commands, *pauses)
key_presses = st.one_of([st.lists(kind, min_size=1, max_size=3) for kind in kinds])
"""One key press gives one kind of command, for one row or for several."""


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(steps=st.lists(key_presses, max_size=8))
def test_undoing_all_steps_leads_back_to_the_start(steps: list[list[cmd.Command]]) -> None:
    campaign = Campaign()
    seen = [campaign.steering]
    for n, step in enumerate(steps):
        for command in step:
            campaign.give(command, step=f"step{n}" if len(step) > 1 else "")
        if campaign.steering != seen[-1]:  # else the undo passes this step over
            seen.append(campaign.steering)
    while len(seen) > 1:
        seen.pop()
        campaign.undo()
        assert campaign.steering == seen[-1]
    with pytest.raises(UndoError):
        campaign.undo()


def test_each_user_undoes_their_own_steps() -> None:
    campaign = Campaign()
    campaign.give(cmd.SkipEntry(0, "main"), "ann")
    campaign.give(cmd.SkipEntry(1, "main"), "bob")
    campaign.undo("ann")
    assert [e.steer for e in campaign.state.entries.values()][:2] == ["", "skipped"]
    with pytest.raises(UndoError):
        campaign.undo("ann")


def test_what_another_user_changed_since_then_is_left_alone() -> None:
    campaign = Campaign()
    campaign.give(cmd.SkipMutants("function=f0"), "ann")
    campaign.give(cmd.PromoteMutants(MUTANTS[0]), "bob")
    found = undo(campaign.state, "ann", campaign.before)
    assert found.note
    campaign.undo("ann")
    assert campaign.state.mutants[MUTANTS[0]].steer == "promoted"
    assert campaign.state.mutants[MUTANTS[2]].state == "pending"


def test_a_mutant_that_was_killed_since_then_stays_killed() -> None:
    campaign = Campaign()
    campaign.give(cmd.SkipMutants(MUTANTS[0]))
    campaign.give(cmd.PromoteMutants(MUTANTS[0]))
    campaign.record(ev.MutantState("main", MUTANTS[0], "killed", "main/1", steer="promoted"))
    campaign.undo()
    row = campaign.state.mutants[MUTANTS[0]]
    assert (row.state, row.steer) == ("killed", "")


def test_a_command_that_another_process_answers_first_is_undone_before_the_one_before_it() -> None:
    """As in fuzz-first: the supervisor skips a mutant while the instances still have to resume."""
    c = Campaign()
    c.give(cmd.Pause())
    c.record(ev.CommandIssued("c90", encode_command(cmd.Resume()), "ann"))
    skip = ev.CommandIssued("c91", encode_command(cmd.SkipMutants(MUTANTS[4])), "ann")
    c.record(skip, ev.MutantState("", MUTANTS[4], "skipped"), ev.CommandApplied("c91", ""))
    c._pause(cmd.Resume())
    c.record(*(ev.CommandApplied("c90", name) for name in NAMES))
    c.undo()
    assert c.state.mutants[MUTANTS[4]].state == "alive"
    assert c.state.state == "running"
    c.undo()
    assert c.state.state == "paused"


def test_quick_commands_are_undone_in_the_order_of_the_engine() -> None:
    """The second command was issued while the first one had no answer."""
    campaign = Campaign()
    first, second = cmd.SkipEntry(0, "main"), cmd.PromoteEntry(0, "main")
    for key, command in (("c1", first), ("c2", second)):
        campaign.record(ev.CommandIssued(key, encode_command(command), "ann"))
    for key, steer in (("c1", "skipped"), ("c2", "promoted")):
        campaign.record(ev.EntryDescribed("main", 0, steer=steer), ev.CommandApplied(key, "main"))
    assert last_step(campaign.state, "ann")[0].id == "c2"
    campaign.undo()
    assert campaign.state.entries["main/0"].steer == "skipped"
    campaign.undo()
    assert campaign.state.entries["main/0"].steer == ""


@pytest.mark.parametrize("command", [cmd.Stop("s1"), cmd.AddSeed("/x"), cmd.ExactPass()])
def test_what_cannot_be_undone_has_a_reason(command: cmd.Command) -> None:
    campaign = Campaign()
    campaign.give(cmd.SkipEntry(0, "main"))
    key = campaign.give(command)
    assert not is_undoable(command)
    with pytest.raises(UndoError):
        campaign.undo(wanted=key)
    assert why_not(last_step(campaign.state, "ann")) == ""  # the command before
    campaign.undo()
    assert campaign.state.entries["main/0"].steer == ""
    assert why_not(last_step(campaign.state, "ann"))
    with pytest.raises(UndoError):
        campaign.undo()


def test_a_verdict_about_a_finding_is_undone() -> None:
    campaign = Campaign()
    campaign.record(ev.FindingDescribed("main", "crash", "crashes/1", "S", "title"))

    def judge(verdict: str, note: str = "") -> None:
        campaign.give(cmd.JudgeFinding("crashes/1", verdict, note, "main"))

    def verdict() -> tuple[str, str]:
        given = campaign.state.verdicts.get("S")
        return ("new", "") if given is None else (given.verdict, given.note)

    judge("known", "issue 12")
    judge("fixed")
    campaign.undo()
    assert verdict() == ("known", "issue 12")
    campaign.undo()
    assert verdict() == ("new", "")


def test_rejected_commands_are_passed_over_and_pending_ones_wait() -> None:
    campaign = Campaign()
    campaign.give(cmd.SkipEntry(0, "main"))
    campaign.record(
        ev.CommandIssued("r", encode_command(cmd.SkipEntry(1, "main")), "ann"),
        ev.CommandRejected("r", "main", "no such entry"),
    )
    assert why_not(last_step(campaign.state, "ann")) == ""
    campaign.record(ev.CommandIssued("p", encode_command(cmd.SkipEntry(2, "main")), "ann"))
    assert why_not(last_step(campaign.state, "ann"))
    with pytest.raises(UndoError):
        campaign.undo()


def test_a_covered_goal_is_not_pinned_again() -> None:
    campaign = Campaign()
    campaign.give(cmd.PinGoal(GOALS[0]))
    campaign.give(cmd.PinGoal(GOALS[1]))
    campaign.record(*(ev.GoalsUncovered(name, 2, gone=[GOALS[0]]) for name in NAMES))
    assert GOALS[0] in undo(campaign.state, "ann", campaign.before).note
    campaign.undo()
    assert {f.pinned for f in campaign.state.types.values()} == {""}


@pytest.mark.slow
def test_many_mutants_are_one_command_if_all_were_alike() -> None:
    campaign = Campaign()
    count = MAX_MUTANTS + 1
    rows = [{"id": f"x:g:math:{n}:-", "function": "g"} for n in range(count)]
    campaign.record(ev.MutantsFound("main", "x", "x.py", "/x.py", rows))
    campaign.give(cmd.SkipMutants("function=g"))
    (only,) = undo(campaign.state, "ann", campaign.before).commands
    assert only[0] == cmd.RestoreMutants("function=g")
    campaign.undo()
    assert {m.state for m in campaign.state.mutants.values()} == {"pending", "alive", "killed"}
    campaign.give(cmd.PromoteMutants("x:g:math:3:-"))
    campaign.give(cmd.SkipMutants("function=g"))
    with pytest.raises(UndoError):  # not alike, and too many to name
        campaign.undo()


def test_requests_are_small_enough_for_the_socket() -> None:
    campaign = Campaign()
    rows = [{"id": f"x:g:math:{n}:-", "function": "g"} for n in range(1000)]
    campaign.record(ev.MutantsFound("main", "x", "x.py", "/x.py", rows))
    campaign.give(cmd.PromoteMutants("x:g:math:3:-"))
    campaign.give(cmd.SkipMutants("function=g"))
    found = undo(campaign.state, "ann", campaign.before)
    assert len(found.commands) > 2
    sizes = [len(str(encode_command(command))) for command, _ in found.commands]
    assert max(sizes) < 32_000
    campaign.undo()
    steers = {m.id: (m.state, m.steer) for m in campaign.state.mutants.values()}
    assert steers["x:g:math:3:-"] == ("pending", "promoted")
    assert steers["x:g:math:4:-"] == ("pending", "")
    assert len(last_step(campaign.state, "ann")) == 1  # the chunks were one undo
