"""What a hub costs: CPU and growth of its log, with many hosts whose logs are played again.

    python benchmarks/hub_cost.py [--hosts 4 50 200] [--seconds 60] [--instances 4]

First a real campaign of four zest instances is run and its log kept. Then each of N hosts gets a
run whose log is that recording: its first half at once, then event by event at the times at which
it was written, again from the start when it is over. All of them are served by the real server
(``machines/hosts/serve.py``) in one process over Unix sockets, in place of ssh, whose processes are
not the hub's. The real hub relays them. The CPU time is the hub's process alone, after a warm-up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from lab.options import parse
from lab.rows import Rows

HUB = "bench"

TARGET = """
def f(data):
    text = data.decode("latin-1")
    depth = 0
    for character in text:
        if character in "([{":
            depth += 1
        elif character in ")]}" and depth:
            depth -= 1
        elif character in "0123456789" and depth > 3:
            return int(character)
    return depth
"""


def record(directory: Path, seconds: float, instances: int) -> Path:
    """Run a real campaign; return its run directory."""
    (directory / "brackets.py").write_text(TARGET)
    (directory / "rec.toml").write_text(
        f'[campaign]\nbudget = "{seconds:.0f}s"\n[engine]\nkind = "zest"\ninstances = {instances}\n'
        '[target]\nfunction = "brackets:f"\n'
    )
    argv = [sys.executable, "-m", "fuzztui", "rec.toml", "--headless"]
    subprocess.run(argv, cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return directory / "runs" / "rec"


# ------------------------------------------------------------------ the hosts' process


def play(where: Path, recording: Path, count: int) -> None:
    """Write the logs of ``count`` hosts, and serve each of them on a socket, until killed."""
    asyncio.run(_play(where, recording, count))


async def _play(where: Path, recording: Path, count: int) -> None:
    from fuzztui.kernel.log.reader import LogReader
    from fuzztui.kernel.log.writer import LogWriter
    from fuzztui.machines.hosts.serve import HostServer

    records = list(LogReader(recording).records())
    length = records[-1].t + 1.0
    writers = {}
    for number in range(1, count + 1):
        run = where / f"h{number}"
        (run / "supervisor").mkdir(parents=True)
        (run / "supervisor" / "hub").write_text(HUB)
        writers[f"h{number}"] = LogWriter(run / "log")

        async def serve(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, run: Path = run
        ) -> None:
            async def send(line: bytes) -> None:
                writer.write(line)
                await writer.drain()

            try:
                await HostServer(run, send, steer=False).serve(reader)
            finally:
                writer.close()

        await asyncio.start_unix_server(serve, where / f"h{number}.sock", limit=8 << 20)
    (where / "ready").touch()
    # The first half is written at once: most entries are found in the first seconds.
    began, done = time.monotonic() - length / 2, dict.fromkeys(writers, 0)
    while True:
        for offset, (name, writer) in enumerate(writers.items()):
            # Hosts do not write at the same moments.
            now = time.monotonic() - began + offset * 0.37
            while True:
                turn, index = divmod(done[name], len(records))
                if (t := records[index].t + turn * length) > now:
                    break
                writer.append(_of_host(records[index].event, name, turn), t)
                done[name] += 1
            writer.flush()
        await asyncio.sleep(0.1)


def _of_host(event: Any, host: str, turn: int) -> Any:
    """The event of an instance of another host; statistics go on in later turns."""
    changes: dict[str, Any] = {}
    if instance := getattr(event, "instance", ""):
        changes["instance"] = f"{host}_{instance}"
    if turn and type(event).__name__ in ("CampaignStarted", "CampaignEnded"):
        from fuzztui.kernel.wire.events import Message

        return Message("info", "again")
    if type(event).__name__ == "CampaignEnded":
        from fuzztui.kernel.wire.events import CampaignState

        return CampaignState("running")
    return replace(event, **changes)


# --------------------------------------------------------------------------- the hub


def hub(where: Path, count: int) -> None:
    """Run the hub of these hosts, connected by their sockets, until killed."""
    from fuzztui.machines.hosts import member
    from fuzztui.machines.hosts.bundle import HostProcess
    from fuzztui.machines.hosts.hub import Hub
    from fuzztui.run.supervise.owner import run_process

    class Pipe(HostProcess):
        """A socket in place of ssh and its process."""

        def __init__(self, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader) -> None:
            self.stdin, self.stdout, self._stderr = stdin, stdout, bytearray()

        async def wait(self) -> int:
            return 0

        async def close(self) -> None:
            self.stdin.close()

    async def open_(self: Any) -> Any:
        reader, writer = await asyncio.open_unix_connection(
            where / f"{self.place.name}.sock", limit=8 << 20
        )
        return Pipe(writer, reader)

    async def start(self: Any) -> None:  # the hosts' campaigns run already
        pass

    # The hosts' runs were made before the hub's log, after which it is named.
    Hub.log_name = HUB  # type: ignore[assignment, method-assign]
    member.HostMember._open = open_  # type: ignore[method-assign]
    member.HostMember._start = start  # type: ignore[method-assign]
    sys.argv = ["hub", str(where / "hub")]
    sys.exit(run_process("hub", Hub))


def measure(where: Path, recording: Path, count: int, seconds: float) -> dict[str, Any]:
    """CPU seconds of the hub a second, bytes of its log and records an hour."""
    where.mkdir()
    python, me = [sys.executable, "-P"], str(Path(__file__).resolve())
    env = {**os.environ, "PYTHONPATH": str(Path(me).parent)}
    (where / "hub").mkdir()
    for part in ("supervisor", "log", "out"):
        (where / "hub" / part).mkdir()
    rows = "\n".join(f'"h{n}" = {{ instances = 4 }}' for n in range(1, count + 1))
    (where / "hub" / "campaign.toml").write_text(
        f'[campaign]\nname = "hub"\n[engine]\nkind = "zest"\n[target]\n'
        f'function = "{recording.parent.parent}/brackets.py:f"\ninclude = ["brackets"]\n'
        f"[hosts]\n{rows}\n"
    )
    player = subprocess.Popen(
        [*python, me, "--play", str(where), str(recording), str(count)], env=env
    )
    started = None
    try:
        while not (where / "ready").exists():
            time.sleep(0.1)
        started = subprocess.Popen([*python, me, "--hub", str(where), str(count)], env=env)
        process = psutil.Process(started.pid)
        time.sleep(seconds / 3)  # the connections, and what was written before them
        before, wall, size = _used(process), time.monotonic(), _size(where / "hub" / "log")
        time.sleep(seconds)
        took = time.monotonic() - wall
        cpu = (_used(process) - before) / took
        grown = (_size(where / "hub" / "log") - size) / took * 3600
        from fuzztui.kernel.session import state_at_end

        state = state_at_end(where / "hub")
        connected = sum(h.state == "connected" for h in state.hosts.values())
        return {
            "hosts": count,
            "connected": connected,
            "instances": len(state.instances),
            "cpu": cpu,
            "cpu_per_50": cpu * 50 / count,
            "records_s": state.seq / state.t if state.t else 0.0,
            "log_mb_h": grown / 1e6,
            "rss_mb": process.memory_info().rss / 1e6,
        }
    finally:
        for one in (started, player):
            if one is not None:
                one.kill()
                one.wait()


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def main() -> None:
    """Record, then measure with each number of hosts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[4, 50, 200])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--recorded", type=float, default=240.0, help="seconds of the recording")
    parser.add_argument("--instances", type=int, default=4)
    options = parse(parser, "hub_cost", hosts=[2], seconds=3.0, recorded=3.0, instances=1)
    rows = Rows("hub_cost", options.results)
    with tempfile.TemporaryDirectory() as tmp:
        recording = record(Path(tmp), options.recorded, options.instances)
        for count in options.hosts:
            row = measure(Path(tmp) / str(count), recording, count, options.seconds)
            rows.add(**row)
            print(json.dumps(row))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["--hub"]:
        hub(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
