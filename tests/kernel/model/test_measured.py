"""Whether a campaign has measured anything: what its end, its screens and its exit code say."""

import pytest
from folding import fold

from fuzztui.cli.headless import exit_code
from fuzztui.cli.output import DONE, FAILED, FINDINGS
from fuzztui.cli.runs import RunStatus
from fuzztui.kernel.model.measured import executed, may_still_start, unguided, unmeasured
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.status import status_dict

CAUSE = "No module named 'x'"


def folded(*events, engine="zest", end="finished"):
    over = [ev.CampaignEnded(end, "the budget is used up")] if end else []
    return fold(ev.CampaignStarted("c", engine), *events, *over)


def instance(name="main", state="finished", reason="", **stats):
    return [ev.InstanceState(name, state, reason=reason), ev.Stats(name, **stats)]


GOOD = instance(execs=90, valid=80, invalid=10, edges=7)
BLIND = [
    *instance(execs=90, valid=80, invalid=10, edges=0),
    ev.Message("warning", "it executes /p/a.py as 'a'", "main", ev.UNGUIDED),
]
HANGING = instance(execs=1, valid=0, invalid=0, edges=0)
CRASH = ev.FindingSaved("main", "crash", "crashes/x")


@pytest.mark.parametrize("end", ["finished", "stopped"])
@pytest.mark.parametrize(
    ("events", "engine", "says"),
    [
        (GOOD, "zest", ""),
        (BLIND, "zest", "/p/a.py"),
        (BLIND, "mu2", "/p/a.py"),
        ([], "spoton", "no input"),
        (instance(), "afl", "no input"),
        (HANGING, "text", "no input"),  # the first input had not ended
        (instance(state="failed", reason=CAUSE), "zest", CAUSE),
        ([*GOOD, *instance("s1", "failed", CAUSE)], "zest", CAUSE),
        (instance(execs=900, edges=0), "afl", ""),  # afl-fuzz -n
        (instance(execs=900, edges=12), "afl", ""),
        (instance(execs=900), "afl", ""),  # edges are not known
        ([ev.InstanceHello("m7", mutant="m7"), *instance("m7", execs=9)], "afl", ""),
    ],
)
def test_the_end_of_a_campaign_without_a_measurement_is_not_green(events, engine, says, end):
    state = folded(*events, engine=engine, end=end)
    why = unmeasured(state)
    assert says in why and bool(says) == bool(why)
    assert exit_code(RunStatus(state, None)) == (FAILED if says else DONE)
    assert status_dict(state)["unmeasured"] == (why or None)


def test_an_instance_that_used_its_budget_without_an_execution():
    state = folded(*GOOD, *instance("s1", execs=0, valid=0, invalid=0))
    assert unmeasured(state).startswith("s1")
    stopped = folded(*GOOD, *instance("s1", "stopped", execs=0, valid=0, invalid=0), end="stopped")
    assert unmeasured(stopped) == ""  # its user did not wait


def test_findings_come_first_and_the_reason_stays():
    state = folded(*BLIND, CRASH)
    assert unmeasured(state)
    assert exit_code(RunStatus(state, None)) == FINDINGS


def test_what_was_covered_later_guides():
    state = folded(*BLIND, ev.Stats("main", execs=100, valid=90, invalid=10, edges=3), end="")
    assert unguided(folded(*BLIND, end="")) and not unguided(state)


def test_a_campaign_that_failed_or_lost_records_has_its_own_reason():
    assert unmeasured(folded(*instance(), end="failed")) == ""
    assert unmeasured(folded(ev.RecordsLost(1, "cut"))) == ""


@pytest.mark.parametrize("state", ["starting", "running", "restarting"])
def test_an_instance_is_waited_for_until_its_first_input_has_ended(state):
    assert may_still_start(folded(*GOOD, *instance("s1", state), end=""))
    hanging = folded(*instance(state=state, execs=1, valid=0, invalid=0), end="")
    assert may_still_start(hanging) and not executed(hanging)
    assert not may_still_start(folded(*HANGING, ev.FindingSaved("main", "hang", "hangs/x"), end=""))


@pytest.mark.parametrize("state", ["paused", "failed", "stopped"])
def test_an_instance_that_will_not_start_is_not_waited_for(state):
    assert not may_still_start(folded(*GOOD, *instance("s1", state), end=""))
