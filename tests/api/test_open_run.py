"""``fuzztui.open_run``: what scripts read of runs; and runs of old versions, which still open."""

import contextlib
import doctest
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from output_schemas import check
from run_logs import run_with

import fuzztui
from fuzztui.cli import main
from fuzztui.cli.output import DONE
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    CommandApplied,
    CommandIssued,
    EntrySaved,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    Stats,
)
from fuzztui.tools.schema.outputs import output_schema

OLD = Path(__file__).parent / "old_runs"
"""Logs of one small program, as fuzztui of these days wrote them: the first version with an engine,
the first with mutants."""
DOCS = Path(__file__).parents[2] / "docs"


def files(run):
    return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(run.rglob("*"))}


@pytest.fixture(params=sorted(path.name for path in OLD.iterdir()))
def old(request, tmp_path):
    run = tmp_path / "old"
    shutil.copytree(OLD / request.param, run)
    return run


def test_an_old_run_opens_and_stays_as_it_is(old):
    before = files(old)
    with fuzztui.open_run(old) as run:
        now = run.now()
        early = run.at(0.0)
    assert (now.name, now.target, now.state, now.problems) == ("old", "prog:fuzz", "finished", ())
    assert now.has_ended and not now.at_least
    assert now.execs >= 400 and now.corpus == len(now.entries) == 3
    assert (early.state, early.execs, early.entries) == ("starting", 0, ())
    assert bool(now.mutants) == ("mu2" in now.engine)
    assert files(old) == before


def test_an_error_of_the_callers_own_condition_stays_what_it_is(old):
    def until(_):
        raise FileNotFoundError("of the script")

    with pytest.raises(FileNotFoundError, match="of the script"):
        fuzztui.open_run(old).wait(until)


def test_the_json_of_an_old_run_is_that_of_today(old, capsys):
    def printed(*words):
        assert main([str(word) for word in words]) == DONE
        return capsys.readouterr().out

    status = json.loads(printed("status", old, "--json"))
    check("status", status)
    jsonschema.Draft7Validator(output_schema("status")).validate(fuzztui.open_run(old).now().status)
    assert status["v"] == 1
    for line in printed("events", old, "--json").splitlines():
        assert line.startswith('{"v":1,')
        check("events", json.loads(line))
    check("report", json.loads(printed("report", old, "--format", "json")))


START = CampaignStarted("c", "zest", "t", instances=["main"])


def made(tmp_path, *more):
    return run_with(
        tmp_path / "run", START, CampaignState("running"), InstanceHello("main", "zest"),
        Stats("main", execs=100, corpus=1, edges=5),
        EntrySaved("main", 1, "id:000001,op:havoc", op="havoc", size=4, cov=True),
        FindingSaved("main", "crash", "crashes/id:000000"),
        FindingDescribed("main", "crash", "crashes/id:000000", "sig", "boom", "a.py:1"),
        Stats("main", execs=300, corpus=1, edges=6), *more,
    )  # fmt: skip


def test_rows(tmp_path):
    run = made(tmp_path)
    now = fuzztui.open_run(str(run)).now()
    assert now.state == "interrupted" and (now.execs, now.edges) == (300, 6)
    (entry,), (finding,) = now.entries, now.findings
    assert entry.path == run / "out/main/queue/id:000001,op:havoc"
    assert (entry.key, entry.size, entry.mutator, entry.is_new) == ("main/1", 4, "havoc", True)
    assert (finding.kind, finding.title, finding.verdict) == ("crash", "boom", "new")
    assert finding.paths == (run / "out/main/crashes/id:000000",)
    assert now.series["execs"].values[-1] == 300


def test_a_name_in_a_log_leads_out_of_no_run(tmp_path):
    run = made(tmp_path, EntrySaved("main", 2, "../../../../x"), EntrySaved("main", 3, "/etc/x"))
    outside, inside = fuzztui.open_run(run).now().entries[1:]
    assert (outside.path, inside.path) == (None, run / "out/main/etc/x")


def test_receipts(tmp_path):
    command = {"c": "promote", "entry": 1, "instance": "main"}
    run = made(
        tmp_path,
        CommandIssued("c1", command, "ann@box"),
        CommandApplied("c1", "main", trial=301),
        Stats("main", execs=400, corpus=1, edges=6),
    )
    now = fuzztui.open_run(run).now()
    assert now.receipt(fuzztui.Steering("applied", "", "c1"))
    assert now.receipt(fuzztui.Steering("applied", "", "c2")) == ""


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda run: run.steer("promot", "main/1"), "did you mean"),
        (lambda run: run.steer("promote", "x"), "needs a queue entry's ID"),
        (lambda run: run.steer("pause"), "resumes"),
        (lambda run: run.wait(lambda now: now.execs > 1000), "the campaign is interrupted"),
        (lambda run: run.wait(lambda now: False, timeout_s=math.nan), "timeout_s: nan is no"),
        (lambda run: run.steer("pause", timeout_s=-1), "timeout_s: -1 is no number of seconds"),
        (lambda run: run.at(math.nan), "seconds: nan is no number of seconds"),
    ],
)
def test_what_is_wrong_is_the_text_of_the_command(tmp_path, capsys, wrong, text):
    with pytest.raises(fuzztui.RunError, match=text):
        wrong(fuzztui.open_run(made(tmp_path)))
    assert capsys.readouterr() == ("", "")


def test_an_earlier_state_of_a_wait_has_no_later_rows(tmp_path):
    log = made(tmp_path)
    seen = []

    def until(now):
        seen.append(now)
        if len(seen) == 1:
            assert len(now.entries) == 1
        return len(seen) == 2

    with contextlib.ExitStack() as stack:
        stack.callback(RunLock(log).release)
        last = fuzztui.open_run(log).wait(until, timeout_s=60)
    assert seen[1] is last and last.entries and last.series
    assert len(seen[0].entries) == 1, "what was read stays"
    with pytest.raises(fuzztui.RunError, match="read it there"):
        _ = seen[0].series


def test_a_reason_from_a_log_is_escaped_in_an_error(tmp_path):
    run = made(tmp_path, CampaignEnded("failed", "a\x1b[31mb"))
    with pytest.raises(fuzztui.RunError) as error:
        fuzztui.open_run(run).wait(lambda now: False)
    assert "\x1b" not in str(error.value) and "a" in str(error.value)


def test_no_run(tmp_path):
    with pytest.raises(fuzztui.RunError, match="no such run directory"):
        fuzztui.open_run(tmp_path / "none")
    with pytest.raises(AttributeError, match="nothing"):
        _ = fuzztui.nothing


def test_waiting_for_what_is_so_already(tmp_path):
    run = fuzztui.open_run(made(tmp_path))
    assert run.wait().has_ended
    assert run.wait(lambda now: now.execs == 300).edges == 6


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(OLD / "2026-11-26-mu2", tmp_path / "runs/old")
    assert doctest.testfile(str(DOCS / "interfaces.md"), module_relative=False).failed == 0


def test_importing_fuzztui_stays_cheap():
    code = "import fuzztui, sys; print([m for m in sys.modules if m.startswith('fuzztui')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert out.stdout.strip() == "['fuzztui']"
