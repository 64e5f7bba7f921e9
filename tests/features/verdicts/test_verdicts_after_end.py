"""Verdicts about mutants of a campaign that has ended: in the log, and for a resumed campaign."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE, FAILED, NOT_RUNNING, USAGE
from fuzztui.cli.runs import standing
from fuzztui.engines.directory.events import read_reported
from fuzztui.features.verdicts.after_end import judge
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.wire.codec import encode_command, encode_event
from fuzztui.kernel.wire.commands import MarkEquivalent, SkipMutants
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    CommandApplied,
    CommandIssued,
    Event,
    InstanceHello,
    InstanceState,
    MutantRuns,
    MutantsFound,
    MutantState,
    MutationStats,
    Stats,
)
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.observe.relay import Offsets, Relay, relayed
from fuzztui.run.supervise.command_router import sent_commands

KINDS = ["skip-mutants", "mark-equivalent", "requeue-mutants"]
MUTANTS = [{"id": f"m:f:math:{n}:-", "line": n, "operator": "math"} for n in range(4)]


def a_run(
    path: Path, *, engine: str = "mu2", ended: bool = True, during: Sequence[Event] = ()
) -> Path:
    """Four mutants: the first is killed, the second alive; two instances, the second passive.

    ``during``: events that the first instance has also reported.
    """
    (path / "supervisor").mkdir()
    (path / "campaign.toml").touch()
    (path / "out" / "main").mkdir(parents=True)
    (path / "out" / "main" / "events.jsonl").write_text('{"k":"torn')
    events: list[Event] = [
        CampaignStarted("c", engine=engine),
        InstanceHello("main", engine, "1", "3.11", 1, KINDS),
        InstanceHello("added", "", "1", "3.11", 1, []),
        CampaignState("running"),
        MutantsFound("main", "m", "m.py", "/m.py", MUTANTS),
        MutantState("main", "m:f:math:0:-", "killed", "main/3", "value"),
        MutantState("main", "m:f:math:1:-", "alive"),
        MutantRuns("main", {"m:f:math:1:-": [4, 3, 2]}),
        Stats("main", corpus=5),
        MutationStats("main", unsettled=0),
        *during,
        InstanceState("main", "finished"),
        *[CampaignEnded("finished", "")] * ended,
    ]
    writer = LogWriter(path / "log")
    for t, event in enumerate(events):
        writer.append(event, float(t))
    writer.close(at_rest=True)
    return path


def ctl(run: Path, *words: str) -> int:
    return main(["ctl", str(run), *words])


def states(state: State) -> str:
    return " ".join(m.state for m in state.mutants.values())


def test_a_verdict_after_the_end_is_in_the_log_and_reaches_the_engine(tmp_path):
    run = a_run(tmp_path)
    before = standing(run).state
    assert ctl(run, "mark-equivalent", "operator=math", "--because", "no input can") == DONE
    now = standing(run)
    assert states(now.state) == "killed equivalent equivalent equivalent"
    assert now.state.mutants["m:f:math:1:-"].reason == "no input can"
    assert (now.state_name, now.pid, now.state.t) == ("finished", None, before.t)
    (command,) = now.state.commands.values()
    assert (command.state, command.instance) == ("applied", "main")
    assert command.by
    # The engine that continues the run knows the verdict, and does not execute the command again.
    directory = run / "out" / "main"
    reported = read_reported(directory / "events.jsonl")
    assert reported.mutants["m:f:math:1:-"].state == "equivalent"
    assert set(sent_commands(directory / "control.jsonl")) <= reported.answered
    # The supervisor that continues it does not log the same events again.
    offsets = Offsets.load(RunDir(run).offsets, now.state.seq, 0)
    done = relayed(LogReader(run).records(after_seq=offsets.seq))
    relay = Relay(directory / "events.jsonl", "main", offsets.bytes.get("main", 0), done["main"])
    assert [e for e in relay.read(last=True) if not e.kind.startswith("message")] == []
    assert ctl(run, "skip-mutants", "m:f:math:2:-") == DONE
    assert states(standing(run).state) == "killed equivalent skipped equivalent"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["mark-equivalent", "m:f:math:0:-"], FAILED),
        (["mark-equivalent", "operator=negate"], USAGE),
        (["mark-equivalent", "operator=math", "--instance", "s7"], FAILED),
        (["promote-mutants", "operator=math"], NOT_RUNNING),
        (["requeue-mutants", "operator=math"], FAILED),
    ],
)
def test_what_cannot_be_judged_changes_nothing(tmp_path, words, code):
    run = a_run(tmp_path)
    seq = standing(run).state.seq
    assert ctl(run, *words) == code
    assert standing(run).state.seq == seq
    assert not (run / "out" / "main" / "control.jsonl").exists()


def test_a_verdict_is_taken_back_after_the_end(tmp_path):
    run = a_run(tmp_path)
    before = standing(run).state
    assert ctl(run, "mark-equivalent", "operator=math") == DONE
    assert ctl(run, "skip-mutants", "m:f:math:2:-") == DONE
    assert ctl(run, "requeue-mutants", "operator=math", "--instance", "s7") == FAILED
    assert ctl(run, "requeue-mutants", "operator=math") == DONE
    now = standing(run).state
    assert states(now) == states(before) == "killed alive pending pending"
    assert [c.state for c in now.commands.values()] == ["applied"] * 3
    # The exact pass was made before the verdicts.
    assert mutants_summary(now).exact
    directory = run / "out" / "main"
    reported = read_reported(directory / "events.jsonl")
    assert reported.mutants["m:f:math:1:-"].state == "alive"
    assert set(sent_commands(directory / "control.jsonl")) <= reported.answered


def test_what_the_exact_pass_left_out_is_unsettled_again(tmp_path):
    verdict = SkipMutants("m:f:math:1:-")
    during = [
        CommandIssued("c9", encode_command(verdict), "me"),
        MutantState("main", verdict.select, "skipped"),
        CommandApplied("c9", "main", 7, ""),
    ]
    run = a_run(tmp_path, during=during)
    assert mutants_summary(standing(run).state).exact
    assert ctl(run, "requeue-mutants", verdict.select) == DONE
    now = standing(run).state
    assert states(now) == "killed alive pending pending"
    assert mutants_summary(now).exact is False
    assert mutants_summary(now).unsettled == 5


def test_a_kill_of_before_the_verdict_comes_back(tmp_path):
    kill = MutantState("main", "m:f:math:3:-", "killed", "main/4", "value", 12)
    run = a_run(tmp_path, during=[kill, MutantState("main", kill.id, "skipped")])
    events = run / "out" / "main" / "events.jsonl"
    events.write_text(encode_event(kill) + "\n")
    assert ctl(run, "requeue-mutants", kill.id) == DONE
    row = standing(run).state.mutants[kill.id]
    assert (row.state, row.killer, row.trial) == ("killed", "main/4", 12)


def test_why_no_verdict_can_be_given_on_a_torn_log(tmp_path, capsys):
    words = {}
    for name in ("torn", "interrupted"):
        run = tmp_path / name
        run.mkdir()
        a_run(run, ended=name == "torn")
        if name == "torn":
            log = run / "log" / "campaign.jsonl.gz"
            log.write_bytes(log.read_bytes()[:-160])
        seq = standing(run).state.seq
        assert ctl(run, "mark-equivalent", "operator=math") == NOT_RUNNING
        words[name] = capsys.readouterr().err.replace(str(run), "")
        assert standing(run).state.seq == seq
    assert "damaged" in words["torn"]
    assert all("campaign.toml" in text for text in words.values())


@pytest.mark.parametrize("how", [{"engine": "zest"}, {"ended": False}])
def test_only_an_ended_campaign_of_mu2_has_verdicts(tmp_path, how):
    run = a_run(tmp_path, **how)  # type: ignore[arg-type]
    assert ctl(run, "mark-equivalent", "operator=math") == NOT_RUNNING
    with pytest.raises(SupervisorError):
        judge(run, MarkEquivalent("operator=math"), "me")


def test_a_supervisor_that_has_the_run_is_not_disturbed(tmp_path):
    run = a_run(tmp_path)
    lock = RunLock(run)
    with pytest.raises(SupervisorError):
        judge(run, MarkEquivalent("operator=math"), "me")
    lock.release()
    assert judge(run, MarkEquivalent("operator=math"), "me")
