"""A bag on local slots, and on a place whose events the test makes."""

import sys
import threading
from queue import SimpleQueue

import pytest

from fuzztui.features.jobs.bag import MAX_ATTEMPTS, MAX_LOST, Bag, BagListener
from fuzztui.features.jobs.places import Ended, JobTicket, LocalSlots, Progress
from fuzztui.features.jobs.queue import JobQueue, JobState
from fuzztui.features.jobs.request import JobOutcome, outcome_of, progress_of, request_of


class Scripted:
    """A place that answers each attempt as told: a function of the ticket."""

    def __init__(self, answer, slots=2):
        self.events, self.answer, self.count = SimpleQueue(), answer, slots
        self.submitted, self.cancelled = [], []

    def slots(self):
        return self.count

    def submit(self, ticket, request):
        self.submitted.append(ticket)
        outcome = self.answer(ticket)
        if outcome is not None:
            self.events.put(Ended(ticket, outcome))

    def cancel(self, ticket):
        self.cancelled.append(ticket)
        self.events.put(Ended(ticket, JobOutcome(why="cancelled", cancelled=True)))

    def close(self):
        pass


def bag(tmp_path, place, ids=("a", "b", "c"), **more):
    queue = JobQueue(tmp_path / "j", "bag", ids)
    return Bag(queue, place, lambda id_: {"id": id_}, **more)


def test_every_job_ends_with_its_result(tmp_path):
    one = bag(tmp_path, Scripted(lambda t: JobOutcome({"of": t.job})))
    one.run()
    assert {i: j.result for i, j in one.queue.jobs.items()} == {i: {"of": i} for i in "abc"}


def test_a_lost_worker_is_a_new_attempt_up_to_a_limit(tmp_path):
    place = Scripted(
        lambda t: (
            JobOutcome(why="the worker died", lost=True)
            if t.job == "b" or t.attempt < 2
            else JobOutcome({"attempt": t.attempt})
        ),
        slots=1,
    )
    one = bag(tmp_path, place)
    one.run()
    jobs = one.queue.jobs
    assert jobs["a"].result == jobs["c"].result == {"attempt": 2}
    assert (jobs["b"].state, jobs["b"].attempt) == (JobState.FAILED, MAX_LOST)
    assert "the worker died" in jobs["b"].why


def test_losses_without_blame_do_not_count_but_end(tmp_path):
    lost = JobOutcome(why="no scheduler", lost=True, blameless=True)
    other = tmp_path / "other"
    other.mkdir()
    one = bag(tmp_path, Scripted(lambda t: lost if t.attempt <= 9 else JobOutcome({})))
    one.run()
    assert one.queue.counts[JobState.DONE] == 3
    two = bag(other, Scripted(lambda t: lost), ids=("z",))
    two.run()
    assert (two.queue.jobs["z"].state, two.queue.jobs["z"].attempt) == (
        JobState.FAILED,
        MAX_ATTEMPTS,
    )


def test_two_attempts_at_the_same_time_count_once(tmp_path):
    """The first attempt is declared lost, goes on, and ends while the second one runs."""
    ends = []

    class Told(BagListener):
        def on_end(self, job):
            ends.append((job.id, job.state))

    place = Scripted(lambda t: None)
    one = bag(tmp_path, place, ids=("a",), listener=Told())
    lost = JobOutcome(why="cut off", lost=True)
    place.events.put(Ended(JobTicket("a", 1), lost))
    place.events.put(Ended(JobTicket("a", 1), JobOutcome({"from": 1})))
    one.run(until=lambda: one.queue.ended)
    assert one.queue.jobs["a"].result == {"from": 1}
    one.run()
    assert ends.count(("a", JobState.DONE)) == 1


def test_a_result_that_does_not_fit_is_a_failure(tmp_path):
    one = bag(
        tmp_path,
        Scripted(lambda t: JobOutcome({"n": t.job})),
        check=lambda job, result: "no number" if job == "b" else "",
    )
    one.run()
    assert one.queue.jobs["b"].state == JobState.FAILED
    assert "no number" in one.queue.jobs["b"].why
    assert one.queue.counts[JobState.DONE] == 2


def test_skipping_while_it_runs(tmp_path):
    class Skips(BagListener):
        def on_start(self, job):
            if job.id == "b":
                assert one.skip("c")
                assert one.skip("a", "not now")
                assert not one.skip("a")

    place = Scripted(lambda t: None if t.job == "a" else JobOutcome({}), slots=2)
    one = bag(tmp_path, place, ids=tuple("abcd"), listener=Skips())
    one.run()
    assert place.cancelled == [("a", 1)]
    assert [t.job for t in place.submitted] == ["a", "b", "d"]
    assert one.queue.counts[JobState.CANCELLED] == 2


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        {},
        {"how": "ended", "status": 0, "result": "[1]", "stderr": ""},
        {"how": "ended", "status": 0, "result": '{"result": 5}', "stderr": ""},
        {"how": "ended", "status": 0, "result": '{"result": {"x": 1e999}}', "stderr": ""},
        {"how": "ended", "status": 0, "result": "{" * 100_000, "stderr": ""},
        {"how": "ended", "status": 0, "result": "", "stderr": ""},
        {"how": "ended", "status": 3, "result": '{"result": {}}', "stderr": "x\nfuzztui: no"},
    ],
)
def test_answers_are_checked(answer):
    outcome = outcome_of(answer)
    assert outcome.result is None
    assert outcome.why
    assert not outcome.lost


def test_a_signal_may_be_the_machines_fault():
    answer = {"how": "ended", "status": 137, "result": "", "stderr": ""}
    assert outcome_of(answer).lost


@pytest.mark.parametrize("line", [None, b"{}", "[]", "{", '{"a": 1e999}', "x" * 100_000])
def test_progress_lines_are_checked(line):
    assert progress_of(line) is None


def counting(n, sleep=0.0):
    return request_of(
        [
            sys.executable,
            "-c",
            f"import time, json; print(json.dumps({{'n': {n}}}), flush=True); time.sleep({sleep}); "
            f"print(json.dumps({{'result': {{'square': {n * n}}}}}))",
        ]
    )


@pytest.mark.slow
def test_local_slots(tmp_path):
    seen = {}

    class Told(BagListener):
        def on_progress(self, job, data):
            seen[job.id] = data

    queue = JobQueue(tmp_path / "j", "bag", [str(n) for n in range(8)])
    place = LocalSlots(2)
    one = Bag(queue, place, lambda id_: counting(int(id_)), listener=Told())
    one.run()
    place.close()
    assert {i: j.result for i, j in queue.jobs.items()} == {
        str(n): {"square": n * n} for n in range(8)
    }
    assert seen == {str(n): {"n": n} for n in range(8)}


@pytest.mark.slow
def test_skipping_ends_what_runs(tmp_path):
    queue = JobQueue(tmp_path / "j", "bag", ["0", "1"])
    place = LocalSlots(1)

    class Told(BagListener):
        def on_progress(self, job, data):
            if job.id == "0":
                one.skip("0")

    one = Bag(
        queue, place, lambda id_: counting(int(id_), 600 if id_ == "0" else 0), listener=Told()
    )
    one.run()
    assert queue.jobs["0"].state == JobState.CANCELLED
    assert queue.jobs["1"].result == {"square": 1}


@pytest.mark.slow
def test_closing_local_slots_ends_everything(tmp_path):
    place = LocalSlots(3)
    for n in range(3):
        place.submit(JobTicket(str(n), 1), counting(n, 600))
    for _ in range(3):
        assert isinstance(place.events.get(timeout=60), Progress)
    place.close()
    ends = [place.events.get_nowait() for _ in range(3)]
    assert all(e.outcome.cancelled for e in ends)
    assert not [t for t in threading.enumerate() if t.name.endswith("(_run)")]
