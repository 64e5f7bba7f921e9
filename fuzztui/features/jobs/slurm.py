"""Workers as jobs of SLURM: ``sbatch`` starts them, ``scancel`` ends them.

Our own script in place of dask-jobqueue's: its scheduler would live in this process, serve HTTP,
and have its certificates copied to one more directory. A worker ends a minute after it has lost its
scheduler, so that nothing is left in the queue when this process is killed.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
import threading
from typing import Final

from fuzztui.features.jobs.config import ClusterConfig, ClusterError

_LIMIT_S: Final = 60.0
_LOOK_S: Final = 15.0
_OPTIONS: Final = {"partition": "partition", "memory": "mem", "walltime": "time"}


def script_of(config: ClusterConfig, scheduler: str) -> str:
    """Return the batch script of one worker."""
    python = config.python or sys.executable
    cores = config.slurm.get("cores", 1)
    worker = [python, "-P", "-m", "fuzztui", "cluster", "worker", scheduler]
    worker += ["--tls", config.tls, "--slots", str(cores)]
    logs = config.slurm.get("logs")
    options = [
        "--job-name=fuzztui",
        "--ntasks=1",
        f"--cpus-per-task={cores}",
        f"--output={f'{logs}/fuzztui-worker-%j.log' if logs else '/dev/null'}",
        *(f"--{name}={config.slurm[key]}" for key, name in _OPTIONS.items() if key in config.slurm),
        *config.slurm.get("options", ()),
    ]
    return "\n".join(
        ["#!/bin/sh", *(f"#SBATCH {o}" for o in options), f"exec {shlex.join(worker)}", ""]
    )


class SlurmWorkers:
    """A fixed number of SLURM jobs, each a worker: a job that ends is submitted again."""

    def __init__(self, config: ClusterConfig, scheduler: str) -> None:
        """Submit them. Raises :class:`ClusterError`."""
        self._script = script_of(config, scheduler)
        self._over = threading.Event()
        self.jobs: list[str] = []
        """The ids of the jobs."""
        try:
            for _ in range(config.slurm.get("jobs", 1)):
                self.jobs.append(self._submit())
        except BaseException:
            self._cancel()
            raise
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cancel all of them."""
        self._over.set()
        self._thread.join()
        self._cancel()

    def _submit(self) -> str:
        return slurm(["sbatch", "--parsable"], self._script).strip().partition(";")[0]

    def _cancel(self) -> None:
        if self.jobs:
            with contextlib.suppress(ClusterError):
                slurm(["scancel", *self.jobs])

    def _keep(self) -> None:
        while not self._over.wait(_LOOK_S):
            with contextlib.suppress(ClusterError):  # a controller that is away for a while
                found = slurm(["squeue", "--noheader", "--me", "--format=%i"]).split()
                for n, job in enumerate(self.jobs):
                    if job not in found and not self._over.is_set():
                        self.jobs[n] = self._submit()


def slurm(argv: list[str], text: str = "") -> str:
    """Run one of SLURM's commands; return what it prints. Raises :class:`ClusterError`."""
    try:
        done = subprocess.run(
            argv, input=text, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except FileNotFoundError:
        raise ClusterError(
            f"cluster.slurm: {argv[0]} is not on PATH; run fuzztui where jobs are submitted"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as e:
        raise ClusterError(f"cluster.slurm: {argv[0]}: {e}") from None
    if done.returncode:
        why = " ".join(done.stderr.split())[-300:]
        raise ClusterError(f"cluster.slurm: {argv[0]} refused: {why}")
    return done.stdout
