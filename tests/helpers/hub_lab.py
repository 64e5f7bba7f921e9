"""A campaign on the hosts of ``host_lab``, started as a user does, and what its logs contain."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from host_lab import Host, Hosts
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.session import state_at_end
from fuzztui.kernel.wire.events import CommandIssued, Event, PassiveInstance, Record

E = TypeVar("E", bound=Event)

TARGET = "\n".join(
    [
        "def f(data: bytes):",
        "    if data[:3] == b'abc':",
        "        raise ValueError('abc')",
        "    found = 0",
        *(
            f"    if len(data) > {n} and data[{n}] == {n * 37 % 256}:\n        found += {n}"
            for n in range(30)
        ),
        # Reached by inputs that differ between hosts: content that a host has is not sent to it.
        "    total = sum(data)",
        *(f"    if total % 211 == {n}:\n        found += {n}" for n in range(3, 90)),
        "    return found",
    ]
)


ZEST = """
[campaign]
budget = "10m"
[engine]
kind = "zest"
[target]
function = "target_of_hosts:f"
"""


class HubCampaign:
    """A campaign on hosts, started as a user does."""

    def __init__(
        self, directory: Path, hosts: Hosts, name: str, rest: str = "", keep: str = "20GiB"
    ) -> None:
        """``rest``: the campaign file without hosts; by default zest on a small target."""
        self.hosts = hosts
        self.directory = directory
        self.run = directory / "runs" / name
        self.env = {**os.environ, **hosts.env()}
        self.over_there = f"/home/fuzz/runs-of-{name}"
        (directory / "target_of_hosts.py").write_text(TARGET)
        where = f'path = "{self.over_there}", python = "/usr/bin/python3", keep = "{keep}"'
        rows = "\n".join(
            f'"{host}" = {{ instances = {n}, {where} }}' for n, host in enumerate(hosts, 1)
        )
        (directory / f"{name}.toml").write_text(f"{rest or ZEST}\n[hosts]\n{rows}\n")
        self.file = f"{name}.toml"

    def fuzztui(self, *arguments: str, code: int = 0) -> str:
        argv = [sys.executable, "-m", "fuzztui", *arguments]
        done = subprocess.run(
            argv, cwd=self.directory, env=self.env, capture_output=True, text=True,
            timeout=DEADLINE_S, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def start(self) -> None:
        self.fuzztui(self.file, "--detach")
        self.until(lambda s: all(i.stats.execs for i in s.instances.values()))

    def state(self) -> State:
        return state_at_end(self.run)

    def until(self, true: Callable[[State], object]) -> State:
        state = self.state()

        def reached() -> State | None:
            nonlocal state
            state = self.state()
            return state if true(state) else None

        return wait_until(reached, lambda: (state.state, state.reason, state.hosts))

    def records(self) -> list[Record]:
        return list(LogReader(self.run).records())

    def events(self, kind: type[E]) -> list[E]:
        return [r.event for r in self.records() if isinstance(r.event, kind)]

    def log_of(self, host: Host) -> list[Record]:
        """The log over there, as it is on the host's disk."""
        packed = host.run(f"tar -C {self.over_there} -c log | base64").stdout
        with tempfile.TemporaryDirectory() as copy:
            subprocess.run(["tar", "-C", copy, "-x"], input=base64.b64decode(packed), check=True)
            return list(LogReader(Path(copy)).records())

    def check_nothing_lost_or_doubled(self) -> None:
        """Each record of each host's log is in the hub's log, once, in order."""
        for name, host in self.hosts.items():
            there = self.log_of(host)
            self.until(lambda s, n=name, last=there[-1].seq: s.hosts[n].seq >= last)
            mine = [r for r in self.records() if r.host == name]
            numbers = [r.host_seq for r in mine]
            assert numbers == sorted(set(numbers))
            kinds = {r.host_seq: type(r.event) for r in mine}
            for record in there:
                # The hub has its own commands already, and knows what it has sent.
                own = isinstance(record.event, CommandIssued) and "." in record.event.id
                if not own and not isinstance(record.event, PassiveInstance):
                    assert kinds.get(record.seq) is type(record.event), record

    def kill_hub(self) -> None:
        pid = running(self.run)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: running(self.run) is None)

    def stop(self) -> None:
        self.fuzztui("ctl", str(self.run), "stop")
        self.until(lambda s: s.state == "stopped")
