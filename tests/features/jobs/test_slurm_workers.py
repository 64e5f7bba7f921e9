"""Workers as jobs of a real SLURM: a controller and a node daemon of our own, in a directory."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from fuzztui.features.jobs.bag import Bag
from fuzztui.features.jobs.config import ClusterConfig, ClusterError
from fuzztui.features.jobs.opening import check_workers, open_place
from fuzztui.features.jobs.queue import JobQueue
from fuzztui.features.jobs.request import request_of
from fuzztui.features.jobs.slurm import script_of, slurm
from fuzztui.features.jobs.tls import make_certificates

CONF = """\
ClusterName=fuzztui
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={path}/munge/socket
CredType=cred/munge
StateSaveLocation={path}/state
SlurmdSpoolDir={path}/spool
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/slurmd.pid
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
PATH = f"{os.environ['PATH']}:/usr/sbin"


def test_the_script():
    config = ClusterConfig(
        slurm={"cores": 3, "memory": "2G", "options": ["--account=x"], "logs": "/l"},
        tls="/t dir",
        python="/py",
    )
    lines = script_of(config, "tls://10.0.0.1:5").splitlines()
    assert lines[0] == "#!/bin/sh"
    options = {line.removeprefix("#SBATCH ") for line in lines[1:-1]}
    assert {"--cpus-per-task=3", "--mem=2G", "--account=x"} < options
    assert lines[-1] == (
        "exec /py -P -m fuzztui cluster worker tls://10.0.0.1:5 --tls '/t dir' --slots 3"
    )


def test_without_slurm(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ClusterError, match="sbatch"):
        slurm(["sbatch"])


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@pytest.fixture
def controller(tmp_path, monkeypatch):
    for program in ("slurmctld", "slurmd", "munged", "sbatch"):
        if shutil.which(program, path=PATH) is None:
            pytest.skip(f"{program} is not installed")
    # munge refuses a socket below a directory that others may write to, or not enter.
    path = Path("/run" if os.geteuid() == 0 else Path.home()) / f"fuzztui-slurm-{os.getpid()}"
    path.mkdir(mode=0o755)
    for name in ("munge", "state", "spool"):
        (path / name).mkdir(mode=0o755)
    munge = path / "munge"
    (munge / "key").write_bytes(os.urandom(128))
    (munge / "key").chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    text = CONF.format(
        host=host, user=getpass.getuser(), path=path, ports=free_ports(2), cpus=os.cpu_count()
    )
    (path / "slurm.conf").write_text(text)
    monkeypatch.setenv("SLURM_CONF", str(path / "slurm.conf"))
    names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log"}
    names["seed-file"] = "seed"
    options = [f"--{option}={munge / name}" for option, name in names.items()]
    env = {**os.environ, "PATH": PATH}
    try:
        subprocess.run(["munged", "--force", *options], env=env, check=True)
        for daemon in ("slurmctld", "slurmd"):
            subprocess.run([daemon, "-f", str(path / "slurm.conf")], env=env, check=True)
        assert wait_until(lambda: "idle" in slurm(["sinfo", "--noheader"]))
        yield path
    finally:
        for file in ("slurmd.pid", "slurmctld.pid", "munge/pid"):
            end(path / file)
        shutil.rmtree(path, ignore_errors=True)


def end(file):
    try:
        pid = int(file.read_text())
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
    except (OSError, ValueError):
        pass


def queued():
    return slurm(["squeue", "--noheader", "--me", "--format=%i"]).split()


@pytest.mark.slow
@pytest.mark.nightly
def test_jobs_on_slurm(controller, tmp_path, monkeypatch):
    monkeypatch.setattr("fuzztui.features.jobs.slurm._LOOK_S", 1.0)
    make_certificates(tmp_path / "tls")
    config = ClusterConfig(
        slurm={"jobs": 2, "cores": 1, "logs": str(tmp_path)},
        address="127.0.0.1",
        tls=str(tmp_path / "tls"),
    )
    place = open_place(config, 1)
    try:
        assert wait_until(lambda: place.slots() == 3)
        assert check_workers(place, [sys.executable], tmp_path) == []
        code = "import json, os, time; time.sleep(.5); "
        code += "print(json.dumps({'result': {'job': os.environ['SLURM_JOB_ID']}}))"
        queue = JobQueue(tmp_path / "j", "bag", [str(n) for n in range(8)])
        before = queued()
        assert len(before) == 2
        cancelled = []

        def cancel_one():
            if not cancelled and queue.counts["done"] >= 2:
                cancelled.append(before[0])
                slurm(["scancel", before[0]])
            return False

        Bag(queue, place, lambda _: request_of([sys.executable, "-c", code])).run(cancel_one)
        assert queue.counts["done"] == 8
        assert cancelled
        assert wait_until(lambda: len(queued()) == 2 and before[0] not in queued())
        assert {job.result["job"] for job in queue.jobs.values()} >= set(before)
    finally:
        place.close()
    assert wait_until(lambda: not queued())
