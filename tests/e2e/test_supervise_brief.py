"""Supervised campaigns of fake engines that take less than a second."""

import os

from fuzztui.kernel.wire.commands import PromoteEntry, SkipEntry, SkipMutants
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued


def test_an_engine_that_cannot_start_is_not_started_again(made):
    s = made(refuse="target.function: module foo has no function 'bar'")
    state = s.ran()
    assert (state.state, state.instances["main"].state) == ("failed", "failed")
    assert state.reason == "target.function: module foo has no function 'bar'"
    assert state.instances["main"].restarts == 0


def test_an_engine_obeys_and_refuses(made):
    s = made().at_work()
    result = s.send(SkipEntry(2))
    assert (result.ok, result.instance) == (True, "main")
    assert result.trial > 0
    result = s.send(PromoteEntry(1_000_000, "main"))
    assert (result.ok, result.detail) == (False, "no such entry")
    events = s.events()
    issued = [e for e in events if isinstance(e, CommandIssued)]
    assert [e.command for e in issued] == [
        {"c": "skip", "entry": 2},
        {"c": "promote", "entry": 1_000_000, "instance": "main"},
    ]
    assert all("@" in e.by for e in issued)
    applied = next(e for e in events if isinstance(e, CommandApplied))
    assert applied.id == issued[0].id
    assert events.index(issued[0]) < events.index(applied)


def test_what_an_engine_cannot_do_to_mutants_is_said(made):
    s = made(capabilities=["pause", "resume"])
    s.start()
    s.until(lambda st: st.entries)
    assert s.send(SkipMutants("m1")).detail == "fake cannot skip-mutants"


def test_its_channels_are_blocked(made):
    campaign = made().at_work()
    main = campaign.run / "out/main"
    os.mkfifo(main / "control.jsonl")
    result = campaign.send(SkipEntry(1))
    assert not result.ok
    assert "control.jsonl cannot be written" in result.detail
    assert campaign.state().state == "running"
