"""What a look at a run gives, what is read again, and what is kept."""

import errno
import json
import os
import random

import pytest
from home_runs import make_run
from random_logs import random_log

from fuzztui.kernel.log.files import SEALED
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.wire.events import CampaignEnded, CampaignStarted, InstanceState, Record, Stats
from fuzztui.run.home import listing, summary
from fuzztui.run.home import look as look_module
from fuzztui.run.home.kept import KeptSummaries, cache_file
from fuzztui.run.home.listing import RunList
from fuzztui.run.home.look import RunLook
from fuzztui.run.home.summary import POINTS, UNREADABLE, RunSummary, order, summary_of


def test_an_ended_run_is_read_once(tmp_path, monkeypatch):
    look = RunLook(make_run(tmp_path / "r", finds=2))
    assert look.look(1.0) and look.state is None
    of = look.summary
    assert (of.state, of.execs, of.edges, of.edges_total) == ("finished", 300, 30, 99)
    assert len(of.groups) == 2 and of.started == 1e9 and of.score == -1
    assert len(of.spark) == POINTS and of.spark[-1] == 30
    monkeypatch.setattr(look_module, "Session", None)  # would fail
    assert look.look(1.0) and look.summary is of


def test_an_ended_run_that_executed_nothing_says_so(tmp_path):
    state = State()
    events = (CampaignStarted("c", "zest"), InstanceState("main", "running"))
    for event in (*events, CampaignEnded("finished", "the budget is used up")):
        apply(state, [Record(state.seq + 1, 0.0, event)])
    assert unmeasured(state) in summary_of(state, supervised=False).reason


def test_a_run_with_a_supervisor_is_followed(tmp_path):
    run = make_run(tmp_path / "r", state="")
    lock = RunLock(run)
    look = RunLook(run)
    assert look.look(1.0) and look.summary.state == "running" and look.pid
    writer = LogWriter(run / "log")
    writer.append(Stats("main", 5000, 80.0, 9, edges=70), 9.0)
    writer.flush()
    assert look.look(1.0) and look.summary.execs == 5000 and look.summary.execs_per_sec == 80.0
    lock.release()
    assert look.look(1.0)
    assert look.summary.state == "interrupted" and look.summary.execs_per_sec == -1
    assert look.state is None, "nothing is left open"


def test_the_runs_of_targets_are_part_of_the_run_that_contains_them(tmp_path, monkeypatch):
    here, there = make_run(tmp_path / "runs/c"), make_run(tmp_path / "elsewhere/c")
    parts = [make_run(run / "targets/xml") for run in (here, there)]
    monkeypatch.setattr(listing, "supervised_runs", lambda: [there, *parts])
    listed = RunList([tmp_path / "runs"])
    listed.find()
    assert {look.run for look in listed.looks} == {here, there}


def test_a_run_whose_target_is_being_built_is_starting(tmp_path):
    (tmp_path / "r/supervisor").mkdir(parents=True)
    LogWriter(tmp_path / "r/log").close()
    lock = RunLock(tmp_path / "r")
    look = RunLook(tmp_path / "r")
    assert look.look(1.0) and look.summary.state == "starting"
    lock.release()
    assert look.look(1.0) and look.summary.state == "empty"


def test_a_log_that_cannot_be_read_is_a_row(tmp_path):
    run = make_run(tmp_path / "r")
    (run / "log" / SEALED).unlink()
    (run / "log" / SEALED).mkdir()
    look = RunLook(run)
    assert look.look(1.0) and look.summary.state == UNREADABLE and look.summary.reason
    assert str(run) not in look.summary.reason


def test_a_log_that_could_not_be_read_is_tried_again(tmp_path, monkeypatch):
    make_run(tmp_path / "runs" / "r")

    def unreadable(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def listed():
        for _ in runs.refresh(runs.looks, 1.0):
            pass
        return [look.summary.state for look in runs.looks]

    runs = RunList([tmp_path / "runs"])
    runs.find()
    with monkeypatch.context() as patch:
        patch.setattr(look_module, "Session", unreadable)
        assert listed() == [UNREADABLE]
        runs.close()
    assert listed() == ["finished"], "the files of the log are the same"
    runs = RunList([tmp_path / "runs"], KeptSummaries())
    runs.find()
    assert [look.summary.state for look in runs.looks] == [""], "nor is that kept for later lists"


def test_damage_is_named(tmp_path):
    run = make_run(tmp_path / "r", stats=40)
    data = bytearray((run / "log" / SEALED).read_bytes())
    data[len(data) // 2] ^= 4
    (run / "log" / SEALED).write_bytes(data)
    look = RunLook(run)
    look.look(1.0)
    assert "bytes" in look.summary.damage


def test_summaries_are_kept_until_the_log_changes(tmp_path, monkeypatch):
    run = make_run(tmp_path / "runs" / "r", finds=1)

    def listed():
        runs = RunList([tmp_path / "runs"])
        runs.find()
        before = [look.done for look in runs.looks]
        for _ in runs.refresh(runs.looks, 1.0):
            pass
        runs.close()
        (look,) = runs.looks
        return before, look.summary

    before, first = listed()
    assert before == [False]
    before, again = listed()
    assert before == [True] and (again.execs, [*again.groups]) == (first.execs, [*first.groups])
    (run / "log" / SEALED).touch()
    assert listed()[0] == [False]
    kept = cache_file()
    for text in ("", "{", "[]", json.dumps({"form": 1, "runs": {}}), '{"runs": 7}'):
        kept.write_text(text)
        assert listed()[1].execs == first.execs


@pytest.mark.parametrize("bad", [None, 7, {}, {"log": 1}, {"summary": [1]}, "x"])
def test_a_kept_row_of_any_form_is_read_again(tmp_path, bad):
    run = make_run(tmp_path / "r")
    kept = KeptSummaries()
    look = RunLook(run)
    look.look(1.0)
    kept.keep(run, look.summary, look.files)
    assert kept.get(run) is not None
    row = kept._rows[str(run)]
    for n in range(len(row["summary"])):
        values = [*row["summary"]]
        values[n] = {"a": 1}
        kept._rows[str(run)] = {**row, "summary": values}
        assert kept.get(run) is None
    kept._rows[str(run)] = bad
    assert kept.get(run) is None


def test_a_deleted_run_is_dropped(tmp_path):
    run = make_run(tmp_path / "runs" / "r")
    runs = RunList([tmp_path / "runs"])
    runs.find()
    run.rename(tmp_path / "elsewhere")
    assert [*runs.refresh(runs.looks, 1.0)] == [] and runs.looks == []


def test_running_ones_come_first_and_then_the_newest(tmp_path):
    rows = {
        "old": RunSummary("finished", started=1.0),
        "new": RunSummary("interrupted", started=3.0),
        "paused": RunSummary("paused", started=0.5),
        "running": RunSummary("running", started=0.1),
        "bad": RunSummary(UNREADABLE),
    }
    ordered = sorted(rows, key=lambda name: order(rows[name], tmp_path / name))
    assert ordered == ["running", "paused", "new", "old", "bad"]


def test_groups_are_new_after_the_last_look_at_this_campaign():
    of = RunSummary("running", started=5.0, group_count=3, groups=[3, 8, 12])
    assert of.new_groups((0.0, 0)) == 3
    assert of.new_groups((5.0, 8)) == 1
    assert of.new_groups((4.0, 8)) == 3, "of another campaign in this directory"


def test_all_groups_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "MAX_GROUPS", 5)
    look = RunLook(make_run(tmp_path / "r", finds=9))
    look.look(1.0)
    of = look.summary
    assert of.group_count == of.new_groups((0.0, 0)) == 9
    assert len(of.groups) == of.new_groups((of.started, 0)) == 5, "at least"


def test_no_log_makes_a_summary_fail():
    for seed in range(30):
        state = State()
        apply(state, random_log(seed))
        of = summary_of(state, supervised=random.Random(seed).random() < 0.5)
        assert len(of.spark) in (0, POINTS) and isinstance(of.state, str)


def test_one_that_was_under_way_elsewhere_stays_when_it_ends(tmp_path, monkeypatch):
    run = make_run(tmp_path / "r", state="")
    monkeypatch.setattr(listing, "supervised_runs", lambda: [run])
    runs = RunList([tmp_path / "runs"])
    runs.find()
    monkeypatch.setattr(listing, "supervised_runs", list)
    runs.find()
    assert [look.run for look in runs.looks] == [run]
    run.rename(tmp_path / "gone")
    runs.find()
    assert runs.looks == []


def test_a_log_that_grows_after_the_look_is_read_again(tmp_path):
    run = make_run(tmp_path / "runs" / "r")
    kept, look = KeptSummaries(), RunLook(run)
    assert look.look(1.0)
    (run / "log" / SEALED).touch()
    kept.keep(run, look.summary, look.files)
    assert kept.get(run) is None
