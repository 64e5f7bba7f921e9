"""Fuzz-first with turns on a real cluster: the worklist is the supervisor's, as ever."""

import os
import signal

import pytest
from dask_cluster import Cluster, dask_process
from first_lab import fuzzing
from test_first_python_run import First
from waiting import wait_until

from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.wire.commands import SkipMutants
from fuzztui.kernel.wire.events import Message, MutantProgress
from fuzztui.run.process.identity import descendants

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    yield found
    found.close()


@pytest.fixture
def placed(tmp_path, cluster):
    placed = First(tmp_path)

    def begin(*more, **budgets):
        tls = os.path.dirname(cluster.tls.key)
        there = (f'cluster.scheduler="{cluster.address}"', f'cluster.tls="{tls}"')
        turns = ("mutants.use=parallel", "mutants.cluster=true", "engine.instances=2")
        placed.begin(*turns, *there, *more, **budgets)

    placed.on_cluster = begin
    yield placed
    placed.clean_up()
    assert wait_until(lambda: not placed.marked())


def on_workers(cluster, placed):
    """The processes of engines below the workers, by instance."""
    found = {}
    for kept in cluster.workers:
        for process in descendants(dask_process(kept).pid):
            try:
                with open(f"/proc/{process.pid}/environ", "rb") as file:
                    env = file.read().split(b"\0")
            except OSError:
                continue
            if f"FUZZTUI_RUN={placed.run}".encode() in env:
                name = next(e for e in env if e.startswith(b"FUZZTUI_INSTANCE="))
                found.setdefault(name.partition(b"=")[2].decode(), []).append(process)
    return found


def arrived(cluster, placed, count):
    """The processes by instance, once ``count`` instances have some.

    The state lags behind: a turn may have ended when the state shows it.
    """
    found = {}

    def enough(state):
        nonlocal found
        found = on_workers(cluster, placed)
        return len(found) >= count or state.state in ENDED

    placed.until(enough)
    assert len(found) >= count, str(placed.events()[-1])
    return found


GATE = """
import os, re, time
while re.fullmatch(r"m[0-9]+", os.environ.get("FUZZTUI_INSTANCE", "")) and not os.path.exists({!r}):
    time.sleep(0.01)
"""
"""What a turn's engine waits for when it imports the target."""


def test_turns_run_on_the_workers(placed, cluster):
    gate, module = placed.directory / "gate", placed.directory / "rooms" / "inside.py"
    module.write_text(GATE.format(str(gate)) + module.read_text())
    placed.on_cluster(budget="16000 trials", per_mutant="2000 trials")
    arrived(cluster, placed, 1)  # short as a turn is, it waits until it was seen there
    gate.touch()
    state = placed.over()
    assert (state.state, state.stage) == ("finished", "target"), placed.stderr()
    turns = placed.stages("done")
    assert len(turns) >= 2
    assert not [e for e in placed.events(Message) if e.level == "error"]
    for key in turns:
        assert state.instances[state.mutants[key].slot].stats.execs == 2000
    assert any(m.state == "killed" for m in state.mutants.values())


def test_skipping_ends_what_runs_there(placed, cluster):
    placed.on_cluster(budget="8m", per_mutant="2m")
    mutant = fuzzing(placed.until(fuzzing))[0]
    there = wait_until(lambda: on_workers(cluster, placed).get(mutant.slot), placed.stderr)
    assert placed.send(SkipMutants(mutant.id)).ok
    assert wait_until(lambda: not any(p.alive() for p in there))
    placed.until(lambda s: s.mutants[mutant.id].stage == "done")
    # The slot is the next mutant's.
    placed.until(lambda s: any(m.id != mutant.id for m in fuzzing(s)))


def test_a_killed_worker_and_a_killed_supervisor(placed, cluster):
    placed.on_cluster(budget="8m", per_mutant="1m")
    placed.until(lambda s: len(fuzzing(s)) == 2)
    before = arrived(cluster, placed, 2)
    dask_process(cluster.workers[0]).kill()
    # Its turn goes on in the same directory when the worker is back.
    placed.until(lambda s: any(i.restarts for i in s.instances.values()))
    placed.until(lambda s: len(fuzzing(s)) == 2)
    told = [e.slot for e in placed.events(MutantProgress) if e.stage == "fuzzing"]
    assert set(arrived(cluster, placed, 2)) == set(before) <= set(told)
    placed.kill_supervisor()
    assert set(on_workers(cluster, placed)) == set(before), "the engines outlive it"
    there = [p for processes in on_workers(cluster, placed).values() for p in processes]
    for process in placed.marked():  # the stand-ins: what they stand for goes with them
        if process not in there:
            process.signal(signal.SIGKILL)
    assert wait_until(lambda: not on_workers(cluster, placed))


def test_a_cluster_that_does_not_answer_is_told(placed, cluster):
    placed.on_cluster('cluster.scheduler="tls://127.0.0.1:9"')
    state = placed.over()
    assert state.state == "failed"
    assert "tls://127.0.0.1:9" in state.reason
