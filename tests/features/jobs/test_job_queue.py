"""The queue of a bag: states, order, and a journal that survives anything."""

import json
import random

import pytest

from fuzztui.features.jobs.queue import JobQueue, JobState, QueueError

IDS = ["a", "b", "c", "d"]


def reopened(queue, path, ids=IDS, bag="bag"):
    queue.close()
    return JobQueue(path, bag, ids)


@pytest.fixture
def queue(tmp_path):
    return JobQueue(tmp_path / "j", "bag", IDS)


def test_jobs_are_taken_in_order_and_end_once(queue):
    a = queue.take()
    assert (a.id, a.state, a.attempt) == ("a", JobState.RUNNING, 1)
    assert queue.done("a", 1, {"n": 1})
    assert not queue.done("a", 1, {"n": 2})
    assert not queue.failed("a", 1, "late")
    assert not queue.cancel("a")
    assert queue.jobs["a"].result == {"n": 1}
    assert queue.waiting() == ["b", "c", "d"]
    assert queue.counts[JobState.DONE] == 1


def test_a_lost_attempt_is_tried_again_first_and_its_late_result_counts_once(queue):
    queue.take(), queue.take()
    assert queue.lost("a", 1, "the worker died", counts=True)
    assert not queue.lost("a", 1, "told twice", counts=True)
    again = queue.take()
    assert (again.id, again.attempt, again.lost) == ("a", 2, 1)
    # The first attempt was only cut off: it ends while the second runs.
    assert not queue.failed("a", 1, "old")
    assert queue.done("a", 1, {"from": 1})
    assert not queue.done("a", 2, {"from": 2})
    assert queue.jobs["a"].result == {"from": 1}


def test_restart_continues_from_the_journal(queue, tmp_path):
    queue.take(), queue.take()
    queue.done("a", 1, {"n": 1})
    queue.cancel("d", "skipped")
    queue = reopened(queue, tmp_path / "j")
    assert queue.resumed == 2
    assert queue.jobs["a"].result == {"n": 1}
    assert queue.jobs["d"].why == "skipped"
    assert queue.waiting() == ["b", "c"], "what ran waits again, before all others"
    assert (queue.take().id, queue.take().id) == ("b", "c")
    assert queue.take() is None


def test_a_job_that_failed_is_tried_again_after_a_restart(queue, tmp_path):
    queue.take()
    assert queue.failed("a", 1, "it broke")
    queue = reopened(queue, tmp_path / "j")
    assert (queue.resumed, queue.waiting()) == (0, IDS)


def test_a_journal_of_a_former_version_keeps_its_results(tmp_path):
    lines = [
        {"bag": "bag", "version": 1},
        {"job": "a", "state": "running", "attempt": 1},
        {"job": "b", "state": "running", "attempt": 1},
        {"job": "a", "state": "done", "attempt": 1, "result": {"n": 1}},
        {"job": "b", "state": "waiting", "lost": 1, "why": "its worker died"},
        {"opened": True},
        {"job": "b", "state": "running", "attempt": 2},
        {"job": "b", "state": "failed", "attempt": 2, "why": "it broke"},
        {"job": "b", "again": True},
        {"job": "d", "state": "cancelled", "why": "skipped"},
    ]
    (tmp_path / "j").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    queue = JobQueue(tmp_path / "j", "bag", IDS)
    assert (queue.resumed, queue.waiting()) == (2, ["b", "c"])
    assert (queue.jobs["a"].result, queue.jobs["d"].why) == ({"n": 1}, "skipped")


def test_the_journal_of_another_bag_is_begun_anew(queue, tmp_path):
    queue.take()
    queue.done("a", 1, {"n": 1})
    queue = reopened(queue, tmp_path / "j", bag="other")
    assert queue.resumed == 0
    assert queue.waiting() == IDS


def test_two_processes_do_not_share_a_journal(queue, tmp_path):
    with pytest.raises(QueueError):
        JobQueue(tmp_path / "j", "bag", IDS)
    queue.close()


def test_ids_are_unique(tmp_path):
    with pytest.raises(QueueError):
        JobQueue(tmp_path / "j", "bag", ["a", "a"])


@pytest.mark.parametrize("junk", [b'{"job":"b","sta', b"\x00\xff\n", b"[]\n7\n", b'{"job":5}\n'])
def test_torn_and_foreign_lines_are_tolerated(queue, tmp_path, junk):
    queue.take()
    queue.done("a", 1, {"n": 1})
    queue.close()
    with (tmp_path / "j").open("ab") as file:
        file.write(junk)
    queue = JobQueue(tmp_path / "j", "bag", IDS)
    assert queue.take().id == "b"
    queue.done("b", 1, {"n": 2})
    queue = reopened(queue, tmp_path / "j")
    assert [queue.jobs[i].result for i in "ab"] == [{"n": 1}, {"n": 2}]


def test_cut_off_anywhere_the_journal_gives_a_prefix(tmp_path):
    path = tmp_path / "j"
    queue = JobQueue(path, "bag", IDS)
    while job := queue.take():
        queue.done(job.id, job.attempt, {"of": job.id})
    queue.close()
    whole = path.read_bytes()
    for at in range(len(whole) + 1):
        path.write_bytes(whole[:at])
        queue = JobQueue(path, "bag", IDS)
        complete = whole[:at].count(b'"done"')  # the word may be there without its end
        done = [j.id for j in queue.jobs.values() if j.state == JobState.DONE]
        assert done == IDS[: len(done)]
        assert complete - 1 <= len(done) <= complete
        assert all(queue.jobs[i].result == {"of": i} for i in done)
        assert queue.waiting() == IDS[len(done) :]
        queue.close(sync=False)


def test_random_histories_are_the_same_after_each_restart(tmp_path):
    rnd = random.Random(7)
    ids = [f"j{n}" for n in range(30)]
    queue = JobQueue(tmp_path / "j", "bag", ids)
    results = {}
    for step in range(600):
        id_ = rnd.choice(ids)
        match rnd.randrange(6):
            case 0 | 1:
                queue.take()
            case 2:
                attempt = queue.jobs[id_].attempt
                if attempt and queue.done(id_, attempt, {"s": step}):
                    assert id_ not in results
                    results[id_] = {"s": step}
            case 3:
                queue.lost(id_, queue.jobs[id_].attempt, "", counts=True)
            case 4 if rnd.random() < 0.1:
                queue.cancel(id_)
            case 5 if rnd.random() < 0.2:
                unfinished = (JobState.WAITING, JobState.RUNNING)
                left = [job.id for job in queue.jobs.values() if job.state in unfinished]
                queue = reopened(queue, tmp_path / "j", ids)
                assert queue.waiting() == left
        assert sum(queue.counts.values()) == len(ids)
        assert queue.counts[JobState.WAITING] == len(queue.waiting())
    assert {i: j.result for i, j in queue.jobs.items() if j.result} == results


def test_a_full_disk_leaves_a_whole_journal(queue, tmp_path, monkeypatch):
    queue.take()

    class Full:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, data):
            self.file.write(data[:7])
            raise OSError(28, "No space left on device")

    file = queue._file
    queue._file = Full(file)
    with pytest.raises(OSError):
        queue.done("a", 1, {"n": 1})
    queue._file = file
    assert queue.jobs["a"].state == JobState.RUNNING
    assert queue.done("a", 1, {"n": 1})
    queue.close()
    lines = (tmp_path / "j").read_text().splitlines()
    assert [json.loads(line).get("state") for line in lines] == [None, "done"]
