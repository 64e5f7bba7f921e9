"""What watching a large living AFL++ campaign costs, beside others who watch it.

    python benchmarks/afl_watch.py [--seconds 60] [--instances 50] [--entries 20000]
        [--crashes 40] [--hours 24] [--tree DIR] [--no-peers]

A synthetic tree (benchmarks/afl_tree.py) whose fuzzers "live": rows, figures and locks as
theirs. One after the other, each in a pseudo-terminal of 120x40:

* ``fuzztui watch DIR``
* ``watch -n1 afl-whatsup -s DIR``
* ``afl-overseer DIR`` (PyPI; in the extra ``bench``)

Counted over whole seconds after the first full screen and a warm-up: CPU of the process
tree, bytes to the terminal, resident memory (all processes); the time to the first full
screen (its sum of all crashes). Then: how long from a crash file's close to the log while
1,000 queue files a second are written beside it.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
from lab.figures import median, percentile, ratio
from lab.options import parse
from lab.rows import Rows

HERE = Path(__file__).parent
FULL_S = 120.0


class Program:
    """A command in a terminal of its own."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self.begun = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = psutil.Process(self.pid)
        self.seen = b""

    def read(self, until: float, marker: bytes = b"") -> int:
        """Bytes that came until then, or until the marker is on the screen."""
        total = 0
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            total += len(data)
            self.seen = (self.seen + data)[-200_000:]
            if marker and marker in self.seen:
                break
        return total

    def tree(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]

    def cpu(self) -> float:
        """Of all that live and all that were waited for."""
        total = 0.0
        for process in self.tree():
            with suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return total

    def rss(self) -> int:
        total = 0
        for process in self.tree():
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total

    def close(self) -> None:
        for process in reversed(self.tree()):
            with suppress(psutil.Error):
                process.terminate()
        os.close(self.fd)
        os.waitpid(self.pid, 0)


Measured = tuple[float, float, float, int, list[float]]


def measure(argv: list[str], markers: list[bytes], seconds: float, warm_up: float,
            env: dict[str, str]) -> Measured:  # fmt: skip
    """Seconds to the first full screen, CPU seconds a second, bytes a second, rss, shares."""
    program = Program(argv, env)
    try:
        for marker in markers:
            program.read(program.begun + FULL_S, marker)
        full = time.monotonic() - program.begun
        if not all(marker in program.seen for marker in markers):
            print(f"  {argv[0]}: no full screen: {program.seen[-300:]!r}")
        program.read(time.monotonic() + warm_up)
        each = {}
        for p in program.tree():
            with suppress(psutil.NoSuchProcess):  # ended meanwhile
                each[p.pid] = sum(p.cpu_times()[:2])
        cpu, start = program.cpu(), time.monotonic()
        total = program.read(start + seconds)
        took = time.monotonic() - start
        cpu = program.cpu() - cpu
        shares = []
        for process in program.tree():
            with suppress(psutil.Error, KeyError):
                shares.append((sum(process.cpu_times()[:2]) - each[process.pid]) / took)
        return full, cpu / took, total / took, program.rss(), shares
    finally:
        program.close()


def overseer() -> list[str] | None:
    """afl-overseer's command, if it is installed with this Python."""
    tool = Path(sys.executable).parent / "afl-overseer"
    if not tool.exists():
        print("afl-overseer is skipped: it is not installed; pip install -e '.[bench]'")
        return None
    return [str(tool)]


def latency(home: Path, seconds: float) -> list[float]:
    """Milliseconds from each crash file's close to its record, under 1,000 queue files a second."""
    from fuzztui.kernel.log.reader import LogReader
    from fuzztui.kernel.wire.events import FindingSaved

    out = home / "latency"
    for folder in ("queue", "crashes", "hangs"):
        (out / "main" / folder).mkdir(parents=True)
    log = home / "latency-log"
    (log / "log").mkdir(parents=True)
    watcher = subprocess.Popen(
        [sys.executable, "-m", "fuzztui.features.watch", log, out], stdin=subprocess.PIPE
    )
    closed: dict[str, float] = {}
    seen: dict[str, float] = {}
    stop = threading.Event()

    def fuzz() -> None:
        begun, n = time.monotonic(), 0
        while not stop.is_set():
            name = f"id:{n:06d},src:000000,time:{n},execs:{n},op:havoc,rep:2"
            (out / "main/queue" / name).write_bytes(b"x" * 100)
            if n % 100 == 50:
                name = f"id:{n // 100:06d},sig:11,src:000000,time:{n},execs:{n},op:havoc,rep:2"
                (out / "main/crashes" / name).write_bytes(b"x" * 100)
                closed[name] = time.monotonic()
            n += 1
            time.sleep(max(0.0, begun + n / 1000 - time.monotonic()))

    while not (log / "log").glob("tail-*"):
        time.sleep(0.05)
    time.sleep(2.0)
    fuzzer = threading.Thread(target=fuzz)
    fuzzer.start()
    reader, last = LogReader(log), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end + 1.0:
        if time.monotonic() > end:
            stop.set()
        reader.refresh()
        for record in reader.records(after_seq=last):
            last = record.seq
            if isinstance(record.event, FindingSaved):
                seen[record.event.file.partition("/")[2]] = time.monotonic()
        time.sleep(0.005)
    fuzzer.join()
    assert watcher.stdin is not None
    watcher.stdin.close()
    watcher.wait()
    lost = closed.keys() - seen.keys()
    print(f"  {len(closed)} crashes, {len(lost)} not in the log")
    return sorted(1000 * (seen[name] - closed[name]) for name in closed.keys() & seen.keys())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=8.0, help="seconds that do not count")
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--crashes", type=int, default=40)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true")
    options = parse(parser, "afl_watch", seconds=2.0, warm_up=1.0, instances=3, entries=50,
                    crashes=4, hours=0.1)  # fmt: skip
    rows = Rows("afl_watch", options.results)
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    for name in ("SSH_CONNECTION", "NO_COLOR"):
        env.pop(name, None)
    home = Path(tempfile.mkdtemp(prefix="afl-watch-"))
    tree = home / "tree"
    shape = [f"--{k}={getattr(options, k)}" for k in ("instances", "entries", "crashes", "hours")]
    alive = subprocess.Popen(
        [sys.executable, HERE / "afl_tree.py", tree, *shape, "--alive"], stdout=subprocess.PIPE
    )
    try:
        assert alive.stdout is not None
        print(alive.stdout.readline().decode().strip(), flush=True)
        crashes = options.instances * options.crashes
        programs = {
            "fuzztui watch": (
                [str(Path(sys.executable).parent / "fuzztui"), "watch", str(tree)],
                [f"{crashes:,}".encode(), b"RUNNING"],
            )
        }
        if not options.no_peers:
            if shutil.which("afl-whatsup") and shutil.which("watch"):
                command = ["watch", "-n1", "afl-whatsup", "-s", str(tree)]
                programs["afl-whatsup -s, 1 Hz"] = (command, [b"Crashes"])
            else:
                print("afl-whatsup is skipped: afl++ or procps is not installed")
            if (tool := overseer()) is not None:
                programs["afl-overseer"] = ([*tool, str(tree)], [str(crashes).encode()])
        results: dict[str, list[tuple[float, ...]]] = {name: [] for name in programs}
        shares: list[float] = []
        for _ in range(options.rounds):
            for name, (argv, markers) in programs.items():
                full, cpu, sent, rss, each = measure(argv, markers, options.seconds,
                                                     options.warm_up, env)  # fmt: skip
                results[name].append((full, cpu, sent, rss))
                rows.add(program=name, full_s=full, cpu=cpu, bytes_s=sent, rss=rss)
                shares = each if name == "fuzztui watch" else shares
        print(
            f"{'':22}{'full screen':>12}{'CPU':>9}{'ratio':>7}{'bytes/s':>9}{'ratio':>7}{'rss':>7}"
        )
        limit = [median(column) for column in zip(*results["fuzztui watch"], strict=True)]
        for name, rounds in results.items():
            full, cpu, sent, size = (median(column) for column in zip(*rounds, strict=True))
            print(
                f"{name:22}{full:10.2f} s{100 * cpu:8.2f}%{ratio(cpu, limit[1]):7.1f}{sent:9.0f}"
                f"{ratio(sent, limit[2]):7.1f}{int(size) >> 20:5} M"
            )
        print("fuzztui: screen and watcher", ", ".join(f"{100 * s:.2f}%" for s in shares))
        took = latency(home, min(options.seconds, 30.0))
        p95 = percentile(took, 0.95)
        rows.add(program="latency", median_ms=median(took), p95_ms=p95, crashes=len(took))
        print(
            f"crash file to the log: median {median(took):.0f} ms, p95 {p95:.0f} ms, "
            f"worst {took[-1]:.0f} ms"
        )
    finally:
        alive.terminate()
        alive.wait()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
