"""Workers on machines that ssh reaches: each one ends with its connection.

Over there the guard waits on stdin, which is the connection: nothing is left when it is cut.
"""

from __future__ import annotations

import shlex
import sys

from fuzztui.features.jobs.nodes import KeptProcess
from fuzztui.features.jobs.request import guard_source
from fuzztui.kernel.base.ssh import ssh_command
from fuzztui.run.campaign.cluster import ClusterConfig, ClusterError


def worker_command(config: ClusterConfig, scheduler: str) -> list[str]:
    """Return the command of a worker on a host, under the guard."""
    python = config.python or sys.executable
    worker = [python, "-P", "-m", "fuzztui", "cluster", "worker", scheduler, "--tls", config.tls]
    if config.slots:
        worker += ["--slots", str(config.slots)]
    return [python, "-I", "-S", "-c", guard_source(), *worker]


def start_workers(config: ClusterConfig, scheduler: str) -> list[KeptProcess]:
    """Start a worker on each host; they are started again when they end.

    Raises :class:`ClusterError`.
    """
    script = f"exec {shlex.join(worker_command(config, scheduler))}"
    try:
        argvs = [ssh_command(host, script) for host in config.ssh]
    except ValueError as e:
        raise ClusterError(f"cluster.ssh: {e}") from None
    return [KeptProcess(argv, {}, over_ssh=True) for argv in argvs]
