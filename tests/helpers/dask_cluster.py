"""A real scheduler and real workers with TLS, as fuzztui starts them; jobs that can be watched."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path

import psutil
from waiting import DEADLINE_S

from fuzztui.features.jobs.dask_client import connect
from fuzztui.features.jobs.dask_place import DaskPlace
from fuzztui.features.jobs.nodes import (
    SETTINGS,
    KeptProcess,
    OwnScheduler,
    own_address,
    worker_argv,
)
from fuzztui.features.jobs.request import request_of
from fuzztui.features.jobs.tls import make_certificates, tls_files
from fuzztui.run.process.identity import ProcessId

TREE = """
import json, os, subprocess, sys, time
here, go, value = sys.argv[1:]
code = "import os,time; open(os.environ['PIDS'], 'a').write(f'{os.getpid()} '); time.sleep(600)"
env = {**os.environ, "PIDS": here}
subprocess.Popen([sys.executable, "-c", code], start_new_session=True, env=env)
open(here, "a").write(f"{os.getpid()} ")
while len(open(here).read().split()) % 2:
    time.sleep(0.01)
print(json.dumps({"began": value}), flush=True)
while not os.path.exists(go):
    time.sleep(0.02)
print(json.dumps({"result": {"value": value}}))
"""


class Cluster:
    """The scheduler at ``host``, and ``workers`` of one thread each."""

    def __init__(self, folder: Path, workers: int = 2, host: str = "127.0.0.1") -> None:
        make_certificates(folder / "tls")
        self.tls = tls_files(str(folder / "tls"))
        self.scheduler = OwnScheduler(host, self.tls)
        self.address = self.scheduler.address
        here = own_address(self.address)
        argv = worker_argv(sys.executable, self.address, here, 1, self.tls)
        self.workers = [KeptProcess(argv, SETTINGS) for _ in range(workers)]
        with self.client() as client:
            client.wait_for_workers(workers, timeout=DEADLINE_S)

    def client(self):
        return connect(self.address, self.tls)

    def place(self, **more) -> DaskPlace:
        return DaskPlace(self.client, **more)

    def processes(self) -> list[psutil.Process]:
        """Dask's processes: the scheduler first."""
        return [dask_process(kept) for kept in (self.scheduler.process, *self.workers)]

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        self.scheduler.close()


def dask_process(kept: KeptProcess) -> psutil.Process:
    """The process under the guard."""
    return min(psutil.Process(kept.pid).children(), key=psutil.Process.create_time)


def tree_job(folder: Path, name: str) -> dict:
    """A job of two processes, which ends when the file ``go`` exists in the folder."""
    return request_of(
        [sys.executable, "-c", TREE, str(folder / f"pids-{name}"), str(folder / "go"), name]
    )


def pids_of(folder: Path, name: str) -> list[ProcessId | None]:
    """The processes of all attempts of a job; None for dead ones."""
    with contextlib.suppress(OSError):
        return [ProcessId.of(int(pid)) for pid in (folder / f"pids-{name}").read_text().split()]
    return []


def alive(folder: Path, name: str) -> int:
    return sum(p is not None for p in pids_of(folder, name))


@contextlib.contextmanager
def stopped(process: psutil.Process):
    """A machine that is cut off: its process neither answers nor closes its connections."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)
