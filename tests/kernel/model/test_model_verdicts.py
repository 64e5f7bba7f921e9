"""Verdicts about groups of findings: their fold, regressions, counts and notifications."""

from __future__ import annotations

from restored import restored

from fuzztui.kernel.base.signals import signal_signature
from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.finding_tallies import tallies
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.new_groups import target_groups
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.status import status_dict


class Folded:
    def __init__(self, *events: ev.Event) -> None:
        self.state = State()
        self.add(*events)

    def add(self, *events: ev.Event) -> None:
        for event in events:
            seq = self.state.seq + 1
            apply(self.state, [ev.Record(seq, float(seq), event)])

    def judge(self, signature: str, verdict: str, note: str = "") -> None:
        row = {"signature": signature, "verdict": verdict, "note": note, "author": "me"}
        self.add(ev.VerdictsChanged([row]))

    def find(self, name: str, signature: str) -> None:
        self.add(ev.FindingDescribed("main", "crash", name, signature, "title"))

    def of(self, signature: str) -> str:
        return verdict_of(self.state, signature)

    def open(self) -> list[list[str]]:
        return list(target_groups(self.state))


def start(**fields: object) -> ev.SupervisorStarted:
    return ev.SupervisorStarted(1, 0.0, **fields)  # type: ignore[arg-type]


def test_a_known_group_is_counted_apart_until_the_verdict_is_taken_back() -> None:
    c = Folded(start())
    c.find("1", "A")
    c.find("2", "A")
    c.find("3", "B")
    c.judge("A", "known", "issue 12")
    tally = tallies(c.state)["crash"]
    assert (tally.groups, tally.open, tally.judged, tally.regressions) == (2, 1, 1, 0)
    assert c.open() == [["main/3"]]
    rows = {row["signature"]: row for row in status_dict(c.state)["findings"]}
    assert (rows["A"]["verdict"], rows["A"]["note"], rows["A"]["author"]) == (
        "known", "issue 12", "me",
    )  # fmt: skip
    assert status_dict(c.state)["open_groups"]["crash"] == 1
    c.judge("A", "new")
    assert c.of("A") == "new"
    assert tallies(c.state)["crash"].open == 2


def test_a_verdict_may_come_before_its_finding() -> None:
    c = Folded()
    c.judge("A", "wont-fix")
    c.add(start())
    c.find("1", "A")
    assert (c.of("A"), c.open()) == ("wont-fix", [])


def test_what_was_fixed_is_a_regression_only_if_found_after_a_start() -> None:
    c = Folded(start())
    c.find("1", "A")
    c.judge("A", "fixed")
    c.find("2", "A")  # the running engines still have the old code
    assert (c.of("A"), c.open()) == ("fixed", [])
    c.add(start(adopted=["main"]))  # and so have those that a new supervisor takes over
    c.find("3", "A")
    assert c.of("A") == "fixed"
    c.add(start())
    assert c.of("A") == "fixed"
    c.find("4", "A")
    assert (c.of("A"), c.open()) == ("regression", [["main/4"]])
    assert (tallies(c.state)["crash"].open, tallies(c.state)["crash"].regressions) == (1, 1)
    again = restored(to_json(c.state))
    assert verdict_of(again, "A") == "regression"
    c.judge("A", "fixed", "another note")
    assert c.of("A") == "regression"
    c.judge("A", "known")
    c.judge("A", "fixed")
    assert c.of("A") == "fixed"


def test_a_second_run_reports_what_was_fixed_in_the_first() -> None:
    c = Folded()
    c.judge("A", "fixed")
    c.add(start())
    assert c.of("A") == "fixed"
    c.find("1", "A")
    assert c.of("A") == "regression"


def test_a_signal_alone_has_no_verdict() -> None:
    c = Folded(start())
    c.find("1", signal_signature(11))
    c.judge(signal_signature(11), "known")
    assert c.of(signal_signature(11)) == "new"
    assert tallies(c.state)["crash"].unexamined == 1
    assert c.of("") == "new"
