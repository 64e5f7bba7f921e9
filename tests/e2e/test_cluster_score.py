"""``fuzztui score --cluster``: exactly the answer of one process, whatever is killed."""

import contextlib
import json
import os
import signal

import psutil
import pytest
from dask_cluster import Cluster, dask_process
from waiting import DEADLINE_S, wait_until

from fuzztui.run.process.identity import ProcessId, descendants

pytestmark = pytest.mark.slow

PROGRAM = """\
import re

LIMIT = 10 + 5
SEEN = []


def size(data):
    unused = len(data) + 1
    SEEN.append(len(data))
    return len(data) > 2


def walk(data, at, depth):
    total = 0
    while at < len(data):
        c = data[at]
        at += 1
        if c == 40:
            inner, at = walk(data, at, depth + 1)
            total += inner * 2 - depth
        elif c == 41:
            return total + 1, at
        else:
            total = total * 3 + c % 7
    return total, at


def parse(data: bytes):
    if data[:1] == b"n":
        raise ValueError(data)
    words = len(re.findall(rb"[a-z]+", data))
    n = 0
    while n < len(data):
        n += 1
    return n > LIMIT, size(data), walk(data, 0, 0)[0] - words * 2, n // 3 + words
"""
"""Mutants are killed by a value, an exception, a timeout, at the import; some survive."""


@pytest.fixture
def run(home):
    inputs = [b"abc", b"de", b"nil", b"0123456789", b"(a(b)c)((", b"))", b"x y z " * 9]
    home.fuzzes(PROGRAM, "mu2", *inputs)
    home.headless("300 trials")
    return home


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    yield found
    found.close()


def on(cluster):
    tls = os.path.dirname(cluster.tls.key)
    return ["--parts", "5", "--cluster", cluster.address, "--cluster-tls", tls]


HERE = ["--cluster", "local", "--jobs", "2", "--parts", "5"]


def words(pid):
    """The command line of a process."""
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def jobs_left(home, cluster):
    """Processes of jobs that score this run: of the workers (others' tests have jobs, too)."""
    found = [p for kept in cluster.workers for p in descendants(dask_process(kept).pid)]
    return found + [p for p in psutil.process_iter() if str(home.path) in words(p.pid)]


def in_the_middle(worker):
    """What runs below a worker, once there is an engine: that is stopped, and cannot end."""
    below = descendants(worker.pid)
    engines = [p for p in below if "fuzztui.engines" in words(p.pid)]
    for engine in engines:
        engine.signal(signal.SIGSTOP)
    return below if any(engine.stopped() for engine in engines) else []


def test_the_same_answer(run, cluster):
    alone = run("score", str(run.run), "--json")
    score = json.loads(alone)
    states = {m["state"] for m in score["mutants"]}
    assert {"killed", "alive"} <= states
    names = ("killed", "alive", "pending", "never_reached", "not_run", "invalid")
    assert sum(score[name] for name in names) == score["total"] and not score["pending"]
    assert run("score", str(run.run), "--json", *HERE) == alone
    assert run("score", str(run.run), "--json", *on(cluster)) == alone
    assert "parts done" in run.stderr
    assert not list((run.run / "supervisor/jobs").iterdir()), "nothing to continue"


def test_the_same_matrix(run, cluster):
    alone = run("score", str(run.run), "--json", "--matrix")
    matrix = run.run / "matrix.json"
    kept = matrix.read_bytes()
    matrix.unlink()
    assert run("score", str(run.run), "--json", "--matrix", *on(cluster)) == alone
    assert matrix.read_bytes() == kept
    known = run("score", str(run.run), "--json", "--matrix")
    assert run("score", str(run.run), "--json", "--matrix", *on(cluster)) == known
    assert matrix.read_bytes() == kept


def started(run, *argv):
    return run.popen("score", str(run.run), "--json", *argv)


def test_a_worker_is_killed_in_the_middle(run, cluster):
    alone = run("score", str(run.run), "--json")
    worker = dask_process(cluster.workers[0])
    command = started(run, *on(cluster))
    below = wait_until(lambda: in_the_middle(worker))
    assert len(below) >= 3, "the guard, the job, the engine"
    worker.kill()
    out, err = command.communicate(timeout=DEADLINE_S)
    assert (command.returncode, out) == (0, alone)
    assert "is scored again" in err
    assert wait_until(lambda: not any(p.alive() for p in below))
    assert wait_until(lambda: not jobs_left(run, cluster))


def test_interrupted_nothing_is_left_and_the_rest_is_scored_later(run, cluster):
    alone = run("score", str(run.run), "--json")
    command = started(run, *on(cluster))
    journals = run.run / "supervisor/jobs"
    assert wait_until(lambda: any('"done"' in f.read_text() for f in journals.glob("score-*")))
    workers = [dask_process(kept) for kept in cluster.workers]
    running = wait_until(lambda: [p for worker in workers for p in in_the_middle(worker)])
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=DEADLINE_S)
    assert command.returncode == 130
    assert wait_until(lambda: not any(p.alive() for p in running))
    assert wait_until(lambda: not jobs_left(run, cluster))
    assert run("score", str(run.run), "--json", *on(cluster)) == alone
    assert "were scored before" in run.stderr


def test_killed_local_slots_leave_nothing(run):
    command = started(run, *HERE)
    this = ProcessId.of(command.pid)
    assert wait_until(lambda: len(descendants(command.pid)) >= 4)
    found = descendants(command.pid)
    command.kill()
    command.communicate()
    assert this is not None
    assert wait_until(lambda: not any(p.alive() for p in found))


def test_a_budget_gives_a_lower_bound_with_all_mutants(run, cluster):
    whole = json.loads(run("score", str(run.run), "--json"))
    short = json.loads(run("score", str(run.run), "--json", "--budget", "0.001", *on(cluster)))
    assert [m["id"] for m in short["mutants"]] == [m["id"] for m in whole["mutants"]]
    assert short["total"] == whole["total"]
    assert not short["exact"]
    assert short["killed"] <= whole["killed"]


def test_a_program_that_has_changed_since_is_scored_anew(run, cluster):
    command = started(run, *on(cluster))
    journals = run.run / "supervisor/jobs"
    assert wait_until(lambda: any('"done"' in f.read_text() for f in journals.glob("score-*")))
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=DEADLINE_S)
    file = run.path / "prog.py"
    file.write_text(file.read_text().replace("total * 3", "total * 5"))
    alone = run("score", str(run.run), "--json")
    assert run("score", str(run.run), "--json", *on(cluster)) == alone


def test_what_workers_lack_is_told_before_anything_runs(run, cluster):
    config = run.path / "cluster.toml"
    tls = os.path.dirname(cluster.tls.key)
    head = f'[cluster]\nscheduler = "{cluster.address}"\ntls = "{tls}"\n'
    config.write_text(f'{head}python = "/usr/bin/false"\n')
    run("score", str(run.run), "--cluster", str(config), code=2)
    assert "cluster.python" in run.stderr
    run("cluster", "check", str(config), code=1)
    config.write_text(head)
    assert "ready" in run("cluster", "check", str(config))
    found = json.loads(run("cluster", "check", str(config), "--json"))
    assert found["slots"] == 2
    assert len(found["workers"]) == 2
    assert found["problems"] == []


def test_workers_over_ssh(run, cluster, sshd):
    """The scheduler is started here, the workers by ssh; all of it ends with the command."""
    alone = run("score", str(run.run), "--json")
    config = run.path / "cluster.toml"
    tls = os.path.dirname(cluster.tls.key)
    config.write_text(
        f'[cluster]\nssh = ["127.0.0.1"]\naddress = "127.0.0.1"\ntls = "{tls}"\nslots = 2\n'
    )
    run.env["FUZZTUI_SSH"] = " ".join(arg for arg in sshd if arg != "127.0.0.1")
    assert run("score", str(run.run), "--json", "--cluster", str(config)) == alone

    def left():
        """Processes with this cluster's certificates that are not below its guards."""
        guards = {kept.pid for kept in (cluster.scheduler.process, *cluster.workers)}
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                family = {process.pid, *(p.pid for p in process.parents())}
                if tls in words(process.pid) and family.isdisjoint(guards):
                    found.append(process)
        return found

    assert tls in words(cluster.workers[0].pid)
    assert wait_until(lambda: not left())
