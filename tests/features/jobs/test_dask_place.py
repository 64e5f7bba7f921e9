"""Jobs on a real scheduler with real workers and TLS: whatever dies, results count once."""

import os
import pickle
import signal
import subprocess
import sys

import distributed
import pytest
from dask_cluster import Cluster, alive, dask_process, pids_of, stopped, tree_job
from waiting import wait_until

from fuzztui.features.jobs.bag import MAX_LOST, Bag, BagListener
from fuzztui.features.jobs.config import ClusterError
from fuzztui.features.jobs.dask_client import (
    HERE,
    ByValue,
    differing,
    refuse_other_versions,
    versions,
)
from fuzztui.features.jobs.dask_task import carry_out_on_worker
from fuzztui.features.jobs.places import Ended, JobTicket, Progress
from fuzztui.features.jobs.queue import JobQueue, JobState
from fuzztui.features.jobs.request import request_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.close()


@pytest.fixture
def place(cluster):
    found = cluster.place()
    assert wait_until(lambda: found.slots() == 3), "two threads, and one ahead"
    yield found
    found.close()


def began(place, ticket=None):
    """Wait until an attempt has begun; returns the events before."""
    seen = []
    while True:
        event = place.events.get(timeout=60)
        seen.append(event)
        if isinstance(event, Progress) and "began" in event.data:
            assert ticket is None or event.ticket == ticket
            return seen


def end_of(place, ticket):
    while True:
        event = place.events.get(timeout=90)
        if isinstance(event, Ended) and event.ticket == ticket:
            return event.outcome


def job(value, sleep=0.0):
    return request_of(
        [
            sys.executable,
            "-c",
            f"import time, json; print(json.dumps({{'n': {value}}}), flush=True);"
            f"time.sleep({sleep}); print(json.dumps({{'result': {{'value': {value}}}}}))",
        ]
    )


def test_results_and_progress_of_a_bag(place, tmp_path):
    seen = {}

    class Told(BagListener):
        def on_progress(self, job, data):
            seen.setdefault(job.id, []).append((job.where, data))

    queue = JobQueue(tmp_path / "j", "bag", [str(n) for n in range(12)])
    Bag(queue, place, lambda i: job(int(i), 0.3), listener=Told()).run()
    assert {i: j.result for i, j in queue.jobs.items()} == {str(n): {"value": n} for n in range(12)}
    assert {id_: said[-1][1] for id_, said in seen.items()} == {str(n): {"n": n} for n in range(12)}
    assert len({said[-1][0] for said in seen.values()}) == 2, "both workers had some"


def test_what_a_worker_unpickles_needs_no_fuzztui():
    code = (
        "import sys, pickle; sys.modules['fuzztui'] = None\n"
        "from distributed.protocol.pickle import dumps, loads\n"
        "f = pickle.loads(bytes.fromhex(sys.argv[1])); g = loads(dumps({'a': (f, [1])}))['a'][0]\n"
        "assert g.__name__ == 'carry_out_on_worker' and callable(g.__globals__['carry_out'])"
    )
    blob = pickle.dumps(ByValue(carry_out_on_worker)).hex()
    subprocess.run([sys.executable, "-P", "-c", code, blob], check=True)


def test_cancelling_ends_all_processes_and_frees_the_slot(place, tmp_path):
    one, two = JobTicket("one", 1), JobTicket("two", 1)
    place.submit(one, tree_job(tmp_path, "one"))
    began(place, one)
    assert alive(tmp_path, "one") == 2
    place.cancel(one)
    assert end_of(place, one).cancelled
    assert alive(tmp_path, "one") == 0, "the answer comes after the end"
    place.submit(two, job(2))
    assert end_of(place, two).result == {"value": 2}


def test_cancelling_what_waits_at_the_scheduler(place, tmp_path):
    tickets = [JobTicket(str(n), 1) for n in range(3)]
    for ticket in tickets:
        place.submit(ticket, tree_job(tmp_path, ticket.job))
    assert wait_until(lambda: alive(tmp_path, "0") + alive(tmp_path, "1") == 4)
    place.cancel(tickets[2])
    assert end_of(place, tickets[2]).cancelled
    assert pids_of(tmp_path, "2") == []
    (tmp_path / "go").touch()
    assert end_of(place, tickets[0]).result == {"value": "0"}


def test_a_killed_worker_is_a_new_attempt(cluster, place, tmp_path):
    queue = JobQueue(tmp_path / "j", "bag", ["a", "b", "c"])
    killed = []

    class Killer(BagListener):
        def on_progress(self, one, data):
            if "began" in data and one.id == "a" and not killed:
                killed.extend(pids_of(tmp_path, "a"))
                os.kill(int(one.where.rpartition(":")[2]), signal.SIGKILL)
                (tmp_path / "go").touch()

    Bag(queue, place, lambda i: tree_job(tmp_path, i), listener=Killer()).run()
    assert len(killed) == 2
    assert {i: j.result["value"] for i, j in queue.jobs.items()} == {i: i for i in "abc"}
    assert (queue.jobs["a"].attempt, queue.jobs["a"].lost) == (2, 1)
    assert wait_until(lambda: not any(p.alive() for p in killed))
    assert wait_until(lambda: place.slots() == 3), "the worker was started again"


def test_a_job_that_kills_its_workers_fails_in_the_end(place, tmp_path):
    code = """
import os, signal
guard = os.getppid()
worker = int(open(f"/proc/{guard}/stat").read().rpartition(")")[2].split()[1])
os.kill(worker, signal.SIGKILL)
"""
    queue = JobQueue(tmp_path / "j", "bag", ["bad", "good"])
    requests = {"bad": request_of([sys.executable, "-c", code]), "good": job(1)}
    Bag(queue, place, requests.__getitem__).run()
    assert queue.jobs["good"].result == {"value": 1}
    assert (queue.jobs["bad"].state, queue.jobs["bad"].attempt) == (JobState.FAILED, MAX_LOST)
    assert "worker" in queue.jobs["bad"].why
    assert wait_until(lambda: place.slots() == 3)


def test_without_a_worker_it_says_that_it_waits_for_one(place, monkeypatch):
    assert "waiting" not in place.describe()
    monkeypatch.setattr(place, "_threads", 0)
    assert "waiting for a worker" in place.describe()


def test_the_scheduler_is_killed_and_comes_back(cluster, place, tmp_path):
    queue = JobQueue(tmp_path / "j", "bag", ["a", "b", "c", "d"])
    notes, first = [], []

    class Killer(BagListener):
        def on_note(self, text):
            notes.append(text)

        def on_progress(self, one, data):
            if "began" in data and not first:
                first.extend(pids_of(tmp_path, one.id))
                dask_process(cluster.scheduler.process).kill()
                (tmp_path / "go").touch()

    Bag(queue, place, lambda i: tree_job(tmp_path, i), listener=Killer()).run()
    assert {i: j.result["value"] for i, j in queue.jobs.items()} == {i: i for i in "abcd"}
    assert all(not job.lost for job in queue.jobs.values()), "no job is to blame"
    assert len(notes) >= 2
    assert wait_until(lambda: not any(p and p.alive() for p in first))
    assert wait_until(lambda: place.slots() == 3)


def test_a_worker_that_is_cut_off_ends_its_jobs(cluster, tmp_path):
    place = cluster.place(lease_s=3.0)
    ticket = JobTicket("cut", 1)
    assert wait_until(lambda: place.slots() == 3)
    place.submit(ticket, tree_job(tmp_path, "cut"))
    began(place, ticket)
    with stopped(dask_process(cluster.scheduler.process)):
        assert wait_until(lambda: alive(tmp_path, "cut") == 0)
    outcome = end_of(place, ticket)
    assert outcome.lost
    assert outcome.blameless
    place.close()
    assert wait_until(lambda: cluster_threads(cluster) == 2)


def cluster_threads(cluster):
    with cluster.client() as client:
        return sum(client.nthreads().values())


def test_when_we_are_killed_our_jobs_end(cluster, tmp_path):
    """The scheduler releases what nobody waits for; the internal state of the worker shows it."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from dask_cluster import *
from fuzztui.features.jobs.places import JobTicket
tls = tls_files({os.path.dirname(cluster.tls.key)!r})
place = DaskPlace(lambda: connect({cluster.address!r}, tls))
place.submit(JobTicket("x", 1), tree_job(Path({str(tmp_path)!r}), "x"))
while True: print(place.events.get(), flush=True)
"""
    hub = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    while "began" not in hub.stdout.readline():
        assert hub.poll() is None
    assert alive(tmp_path, "x") == 2
    hub.kill()
    hub.wait()
    hub.stdout.close()
    assert wait_until(lambda: alive(tmp_path, "x") == 0)


def test_closing_ends_everything(cluster, tmp_path):
    place = cluster.place()
    assert wait_until(lambda: place.slots() == 3)
    for n in range(3):
        place.submit(JobTicket(str(n), 1), tree_job(tmp_path, str(n)))
    assert wait_until(lambda: alive(tmp_path, "0") + alive(tmp_path, "1") == 4)
    place.close()
    assert sum(alive(tmp_path, str(n)) for n in range(3)) == 0
    ends = []
    while not place.events.empty():
        event = place.events.get()
        ends += [event] if isinstance(event, Ended) else []
    assert sorted(e.ticket.job for e in ends) == ["0", "1", "2"]
    assert all(e.outcome.cancelled for e in ends)


def test_other_versions_are_refused(cluster, monkeypatch):
    with cluster.client() as client:
        refuse_other_versions(client)
        assert not differing(versions(client))
        real = distributed.client.version_module.get_versions

        def older(packages=None):
            found = real(packages=packages)
            return {**found, "packages": {**found["packages"], "distributed": "2025.7.0"}}

        monkeypatch.setattr("distributed.client.version_module.get_versions", older)
        with pytest.raises(ClusterError, match=r"2025\.7\.0"):
            refuse_other_versions(client)


def test_a_machine_without_versions_differs():
    found = {HERE: {"dask": "1"}, "the scheduler": {"dask": "1"}, "worker w1": {}}
    texts = differing({**found, "worker w2": {"dask": "1"}})
    assert len(texts) == 1
    assert "w1" in texts[0]


def done_in(journal):
    return journal.read_bytes().count(b'"done"') if journal.exists() else 0


def test_a_bag_is_continued_after_our_process_was_killed(cluster, tmp_path):
    """Results that are in the journal are not computed again."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from dask_cluster import *
from fuzztui.features.jobs.bag import Bag
from fuzztui.features.jobs.queue import JobQueue
here = Path({str(tmp_path)!r})
tls = tls_files({os.path.dirname(cluster.tls.key)!r})
place = DaskPlace(lambda: connect({cluster.address!r}, tls))
def request(id_):
    with (here / "started").open("a") as file: file.write(id_ + "\\n")
    code = "import time; time.sleep(.3); print('{{\\"result\\": {{}}}}')"
    return request_of([sys.executable, "-c", code])
queue = JobQueue(here / "j", "bag", [str(n) for n in range(10)])
Bag(queue, place, request).run()
place.close()
"""
    journal = tmp_path / "j"
    for _ in range(3):
        hub = subprocess.Popen([sys.executable, "-c", code])
        before = done_in(journal)
        assert wait_until(lambda before=before: done_in(journal) > before)
        hub.kill()
        hub.wait()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    lines = journal.read_text().splitlines()
    ends = [line for line in lines if '"done"' in line]
    assert len(ends) == 10
    started = (tmp_path / "started").read_text().split()
    assert len(started) <= 10 + 3 * 3, "only what ran at a kill was started again"
