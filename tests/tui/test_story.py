"""The moments of a campaign that mattered: which there are, how many, and from what they follow."""

import pytest
from fakes import Log, running
from hypothesis import given
from hypothesis import strategies as st
from mutated import mutated
from random_logs import random_log

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.story import MAX_MOMENTS, story
from fuzztui.kernel.wire import events as ev


def kinds(state):
    return [moment.kind for moment in story(state)]


def finds(log, t, edges, *, entry=-1):
    log.add(dt=t - log.state.t)
    if entry >= 0:
        log.add(ev.EntrySaved("main", entry, f"queue/id:{entry:06}"))
        log.add(ev.EntryDescribed("main", entry, ["edge"], edges))
    log.add(ev.Stats("main", int(100 * t), 100.0, edges=edges))


def campaign():
    """Seeds, a burst at 30 s, a command and what follows, then nothing until the end."""
    log = running(1)
    finds(log, 2.0, 5000)
    finds(log, 30.0, 5400, entry=901)
    log.add(ev.CommandIssued("c1", {"c": "promote", "entry": 901, "instance": "main"}, "ann@box"))
    log.add(ev.CommandApplied("c1", "main", 3000), dt=1.0)
    finds(log, 33.0, 5410, entry=902)
    log.add(ev.CampaignEnded("finished", "the budget is used up"), dt=67.0)
    return log


def test_the_end_of_several_targets_has_no_edges_of_one_of_them():
    state = campaign().state
    assert "5,410 edges" in story(state)[-1].text
    state.engine = SEVERAL_TARGETS
    assert "edges" not in story(state)[-1].text


def test_the_moments_of_a_campaign():
    moments = {moment.kind: moment for moment in story(campaign().state)}
    assert {"start", "burst", "command", "plateau", "end"} <= moments.keys()
    assert moments["start"].t < 5 and "edges in the first statistics" in moments["start"].text
    assert moments["plateau"].t == pytest.approx(33.0)
    assert moments["end"].t == pytest.approx(100.0)
    assert moments["end"].text.startswith("finished: the budget is used up")
    command = moments["command"]
    assert command.t == pytest.approx(30.0)
    assert command.text.startswith("ann@box: promote") and "+10 edges" in command.text
    bursts = [moment for moment in story(campaign().state) if moment.kind == "burst"]
    assert bursts[0].key == "main/901" and bursts[0].screen == "corpus"


def test_a_command_names_the_line_of_its_mutant():
    log = mutated(count=40, seconds=60)
    mutant = next(iter(log.state.mutants.values()))
    promote = {"c": "promote-mutants", "select": mutant.id}
    log.add(ev.CommandIssued("c1", promote, "ann@box"), ev.CommandApplied("c1", "main", 3000))
    (command,) = [moment for moment in story(log.state) if moment.kind == "command"]
    assert command.text.startswith(f"ann@box: promote-mutants {mutant.file}:{mutant.line}; ")


def test_a_pause_is_no_plateau():
    log = running(1)
    finds(log, 2.0, 5000)
    log.add(ev.CampaignState("paused"), dt=1.0)
    log.add(ev.CampaignState("running"), dt=90.0)
    finds(log, 95.0, 5400)
    finds(log, 100.0, 5410)
    assert "plateau" not in kinds(log.state)


def test_seeds_of_several_instances_are_the_same_seeds():
    log = running(1)
    for instance in ("main", "s1", "s2"):
        for n in range(10):
            log.add(ev.EntrySaved(instance, 500 + n, f"queue/id:{500 + n:06}", op=f"orig:s{n}"))
    finds(log, 5.0, 900)
    (start,) = [moment for moment in story(log.state) if moment.kind == "start"]
    assert "began with 10 seeds" in start.text


def test_a_gain_is_counted_in_the_start_or_in_a_burst_and_until_the_end():
    log = running(1)
    for t, edges in ((2.0, 5000), (2.9, 5990), (3.05, 5991)):
        finds(log, t, edges)
    log.add(dt=95.0 - log.state.t)
    log.add(ev.CommandIssued("c1", {"c": "promote", "entry": 1, "instance": "main"}, "ann@box"))
    log.add(ev.CommandApplied("c1", "main", 3000))
    finds(log, 100.0, 6500)
    moments = story(log.state)
    assert not any("+991" in moment.text for moment in moments)
    (command,) = [moment for moment in moments if moment.kind == "command"]
    assert "+509 edges" in command.text


def test_a_target_that_comes_before_mutants_is_no_moment():
    log = running(1)
    log.add(ev.PhaseStarted("target", {"round": 0.0}))
    assert "target" not in kinds(log.state)


def test_a_command_that_was_rejected_or_undone_is_no_moment():
    log = campaign()
    undo = ev.CommandIssued("c2", {"c": "promote", "entry": 1, "instance": "main"}, "ann@box",
                            undoes=["c1"])  # fmt: skip
    log.add(undo, ev.CommandApplied("c2", "main", 4000))
    log.add(ev.CommandIssued("c3", {"c": "promote", "entry": 2, "instance": "main"}, "ann@box"))
    log.add(ev.CommandRejected("c3", "no such entry", "main"))
    assert kinds(log.state).count("command") == 1


def test_the_first_finding_and_an_instance_that_failed_are_moments():
    log = running(500)
    log.add(ev.InstanceState("s1", "failed", reason="the worker died 5 times"))
    moments = story(log.state)
    found = [moment for moment in moments if moment.kind == "finding"]
    assert found[0].t == min(f.t for f in log.state.findings.values() if f.first)
    assert found[0].text.startswith("first ") and found[0].key in log.state.findings
    assert any("the worker died 5 times" in moment.text for moment in moments)


def test_the_end_counts_groups_and_what_was_not_examined_apart():
    log = running(1)
    for n, signature in enumerate(("a", "a", "b", "", "", "")):
        log.add(ev.FindingSaved("main", "crash", f"crashes/id:{n:06}"))
        if signature:
            log.add(ev.FindingDescribed("main", "crash", f"crashes/id:{n:06}", signature))
    log.add(ev.CampaignEnded("finished", "budget"))
    (end,) = [moment for moment in story(log.state) if moment.kind == "end"]
    assert "2 groups of findings; 3 findings not examined yet" in end.text


@given(st.integers(0, 10**6))
def test_any_log_has_a_bounded_story_in_order(seed):
    state = State()
    apply(state, random_log(seed, 300))
    moments = story(state)
    assert len(moments) <= MAX_MOMENTS
    times = [moment.t for moment in moments]
    assert times == sorted(times)
    assert all(0 <= moment.t <= state.t + 1e-6 and len(moment.text) <= 250 for moment in moments)


def test_the_story_of_a_part_of_the_log_is_of_that_part():
    log: Log = mutated(count=40, seconds=60)
    half = State()
    apply(half, log.records[: len(log.records) // 2])
    assert all(moment.t <= half.t for moment in story(half))
    assert "end" not in kinds(half)
