"""Supervising engines that analyse mutants: steering all of them, and letting them finish."""

import json

import pytest

from fuzztui.kernel.wire.commands import ExactPass, PromoteMutants, SkipMutants, Stop
from fuzztui.kernel.wire.events import CampaignState, Message, MutantState

pytestmark = pytest.mark.slow

ABLE = ["pause", "resume", "skip-mutants", "promote-mutants", "exact-pass"]


def test_a_command_goes_to_all_instances_and_comes_back_as_one(made):
    s = made(kind="mu2", mutants=3, killed_by="main", capabilities=ABLE)
    s.start(instances=2)
    s.until(lambda st: st.mutant_counts.get("killed") == 3)
    s.until(lambda st: all(i.engine for i in st.instances.values()))
    result = s.send(SkipMutants("m1"))
    assert (result.ok, result.detail) == (True, "1 mutant skipped (2 instances)")
    state = s.state()
    assert state.mutants["m1"].state == "skipped"
    assert state.mutant_counts["killed"] == 2
    said = [e.instance for e in s.events(MutantState) if e.state == "skipped"]
    assert sorted(said) == ["main", "s1"]
    result = s.send(SkipMutants("m2", "s1"))
    assert (result.ok, result.instance, result.detail) == (True, "s1", "1 mutant skipped")
    result = s.send(PromoteMutants("absent"))
    assert (result.ok, result.detail) == (False, "no such entry (2 instances)")
    assert s.send(ExactPass()).ok


def test_an_instance_that_has_ended_finds_the_command_when_it_is_resumed(made):
    s = made(kind="mu2", mutants=3, capabilities=ABLE)
    s.start(instances=2)
    s.until(lambda st: all(i.engine for i in st.instances.values()) and st.mutants)
    assert s.send(Stop("s1")).ok
    s.until(lambda st: st.instances["s1"].state == "stopped")
    result = s.send(SkipMutants("m1"))
    assert (result.ok, result.instance) == (True, "main")
    assert s.send(ExactPass()).ok
    left = [
        json.loads(line)["command"]
        for line in (s.run / "out/s1/control.jsonl").read_text().splitlines()
    ]
    assert left == [{"c": "skip-mutants", "select": "m1"}]


def test_an_engine_whose_budget_is_used_up_may_finish_its_work(made):
    s = made(kind="mu2", mutants=2, finish_s=0.5)
    s.start("campaign.budget=4s")
    s.until(lambda st: "main" in st.mutation)
    state = s.over()
    assert (state.state, state.reason) == ("finished", "the budget of 4 s is used up")
    assert "exact pass done" in [e.text for e in s.events(Message)]
    assert state.instances["main"].reason == "the budget of 4 s is used up"


def test_who_stops_it_meanwhile_need_not_wait(made):
    s = made(kind="mu2", mutants=2, finish_s=1000)
    s.start("campaign.budget=4s", instances=2)
    s.until(lambda st: len(st.mutation) == 2)
    assert s.state().state == "stopping"
    state = s.stop()
    assert state.state == "finished"
    assert s.marked() == []
    assert "exact pass done" not in [e.text for e in s.events(Message)]
    assert [e.state for e in s.events(CampaignState)].count("stopping") == 1


def test_zest_has_nothing_to_finish(made):
    s = made(finish_s=1000)
    assert s.ran("campaign.budget=4s").state == "finished"
