"""Workers on machines that ssh reaches: each one ends with its connection.

The user's ``ssh`` program is used, with its configuration and agent. Over there the guard waits on
stdin, which is the connection: nothing is left when it is cut.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Final

from fuzztui.campaign.cluster import ClusterConfig
from fuzztui.jobs.nodes import KeptProcess
from fuzztui.jobs.request import guard_source

SSH_OPTIONS: Final = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
    # A master connection of the user's would ignore these, and outlive a dead link.
    *("-o", "ControlMaster=no", "-o", "ControlPath=none"),
    *("-o", "EscapeChar=none", "-o", "ForwardAgent=no", "-o", "ForwardX11=no"),
    *("-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no", "-o", "RequestTTY=no"),
)


def ssh_argv(host: str, command: list[str]) -> list[str]:
    """The command that runs ``command`` on a host, whatever the login shell is there.

    The variable FUZZTUI_SSH may contain the program with more options, as tests do.
    """
    ssh = shlex.split(os.environ.get("FUZZTUI_SSH", "ssh"))
    inner = f"exec {shlex.join(command)}"
    return [*ssh, *SSH_OPTIONS, "--", host, f"exec sh -c {shlex.quote(inner)}"]


def worker_command(config: ClusterConfig, scheduler: str) -> list[str]:
    """The command of a worker on a host, under the guard."""
    python = config.python or sys.executable
    worker = [python, "-P", "-m", "fuzztui", "cluster", "worker", scheduler, "--tls", config.tls]
    if config.slots:
        worker += ["--slots", str(config.slots)]
    return [python, "-I", "-S", "-c", guard_source(), *worker]


def start_workers(config: ClusterConfig, scheduler: str) -> list[KeptProcess]:
    """Start a worker on each host; they are started again when they end."""
    command = worker_command(config, scheduler)
    return [KeptProcess(ssh_argv(host, command), {}, over_ssh=True) for host in config.ssh]
