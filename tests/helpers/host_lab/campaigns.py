"""Campaigns on test hosts, started there without any command line: nothing is installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fuzztui.machines.hosts.bundle import bundle
from host_lab import Host

TARGET = """
import time
def target(data: bytes):
    time.sleep(0.002)  # leaves the CPU to what is tested
    if data[:1] == b"a":
        if data[1:2] == b"b":
            if data[2:3] == b"c":
                raise RuntimeError("boom")
"""

CAMPAIGN = """
[campaign]
name = "c"
group = "fuzzers"
[target]
function = "t:target"
[engine]
kind = "zest"
"""

_START = """
import sys
from pathlib import Path
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import prepare_run
from fuzztui.run.supervise.daemon import start
loaded = load(Path(sys.argv[1]))
prepare_run(loaded.campaign.output)
start(loaded.campaign.output, loaded.toml())
"""

_PYTHON = "PYTHONPATH=lib:lib/native exec python3 -P"


def start_campaign(host: Host, campaign: str = CAMPAIGN) -> Path:
    """Start a campaign of the account ``fuzz``, as ``~/runs/c``; the path of its run there."""
    files = {"t.py": TARGET, "c.toml": campaign, "start.py": _START}
    _send(host, "mkdir -p lib && tar xzf - -C lib", bundle().data)
    for name, text in files.items():
        _send(host, f"cat > {name}", text.encode())
    # Others may pass: campaign.group decides who may look at the run.
    host.run("chmod 711 . && mkdir -pm 711 runs")
    host.run(f"{_PYTHON} start.py c.toml")
    return Path("/home/fuzz/runs/c")


def _send(host: Host, command: str, data: bytes) -> None:
    subprocess.run([*host.ssh, command], input=data, check=True, timeout=60)
