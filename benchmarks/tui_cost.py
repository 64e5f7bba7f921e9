"""The cost of the screen without input: bytes to the terminal and CPU.

Programs run one after the other in a real pseudo-terminal, 120x40, true colour:

* ``clock``: a bare Textual application that draws a clock once a second (the limit);
* ``idle``: fuzztui on a campaign whose log stands still;
* ``live``: fuzztui on a campaign whose log grows by the figures of all instances a second;
* ``home``: the home screen with three such campaigns, and ``beside``: these side by side.

    python benchmarks/tui_cost.py [--seconds 20] [--size 120x40] [--instances 4] [--ssh]
        [--only home beside] [--age 600]

Counted after a warm-up, over whole seconds. Ratios are to ``clock`` in the same run.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

import psutil
from lab.figures import ratio
from lab.options import parse
from lab.rows import Rows

CLOCK = """
import time
from textual.app import App
from textual.widgets import Static
class Clock(App):
    def compose(self):
        yield Static("", markup=False)
    def on_mount(self):
        self.set_interval(1.0, self.tick)
    def tick(self):
        self.query_one(Static).update(time.strftime("%H:%M:%S"))
Clock().run()
"""

SCREEN = """
import sys
from pathlib import Path
from fuzztui.tui import run_app
run = Path(sys.argv[1])
run_app(run, run, mode="live", theme="midwatch")
"""

HOME = """
import sys
from pathlib import Path
from fuzztui.run.home import listing
from fuzztui.run.home.listing import RunList
from fuzztui.tui import run_home
from fuzztui.tui.app.home import HomeOpening
listing.supervised_runs = list  # no others of this machine
run_home(HomeOpening(RunList([Path(sys.argv[1])]), lambda argv: ""), "midwatch")
"""

PROGRAMS = ("clock", "idle", "live", "home", "beside")

RUNS = 3
"""Campaigns on the home screen."""


def measure(
    argv: list[str],
    seconds: float,
    warm_up: float,
    size: tuple[int, int],
    env: dict[str, str],
    *,
    keys: str = "",
) -> tuple[float, float, int, int]:
    """Bytes and CPU seconds a second of ``argv`` in a terminal of its own, first paint, memory.

    ``keys`` are pressed in the middle of the warm-up.
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(argv[0], argv, env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = psutil.Process(pid)
    try:
        middle = time.monotonic() + warm_up / 2
        first = _drain(fd, middle)
        os.write(fd, keys.encode())
        first += _drain(fd, middle + warm_up / 2)
        before = _cpu_s(pid)
        start = time.monotonic()
        total = _drain(fd, start + seconds)
        cpu = _cpu_s(pid) - before
        took = time.monotonic() - start
        return total / took, cpu / took, first, process.memory_info().rss
    finally:
        process.terminate()
        os.close(fd)
        os.waitpid(pid, 0)


def _cpu_s(pid: int) -> float:
    """CPU seconds of a process by its CPU-time clock (clock_getcpuclockid(3)), in nanoseconds.

    The 10 ms of /proc would make a whole second of an idle program nothing.
    """
    return time.clock_gettime((~pid << 3) | 2)


def _drain(fd: int, until: float) -> int:
    total = 0
    while (left := until - time.monotonic()) > 0:
        if select.select([fd], [], [], left)[0]:
            data = os.read(fd, 65536)
            total += len(data)
    return total


def campaign(
    run: Path, grow: threading.Event | None, instances: int, past: float = 600.0
) -> threading.Thread:
    """Write a campaign of ``past`` seconds; while ``grow`` is not set, go on at 1 Hz."""
    from fuzztui.kernel.log.writer import LogWriter
    from fuzztui.kernel.remote.lock import RunLock
    from fuzztui.kernel.wire import events as ev

    (run / "log").mkdir(parents=True)
    (run / "supervisor").mkdir()
    names = [f"i{n}" for n in range(instances)]
    writer = LogWriter(run / "log")
    wall = time.time() - past
    writer.append(ev.CampaignStarted("bench", "zest", "t:f", 1, 7200.0, 0, names, wall), 0.0)
    writer.append(ev.SupervisorStarted(os.getpid(), wall), 0.0)
    writer.append(ev.CampaignState("running"), 0.0)
    for name in names:
        writer.append(ev.InstanceState(name, "running", 1), 0.0)

    def figures(t: float) -> None:
        for n, name in enumerate(names):
            edges = int(1000 * t / (t + 90))
            execs = int(2000 * t) + n
            writer.append(
                ev.Stats(
                    name, execs, 2000 + 50 * (execs % 7), int(edges / 3), 3, 9, 1, 0, edges, 4000,
                    edges // 2, execs // 2, execs // 2, 1,
                ), t,
            )  # fmt: skip
            writer.append(ev.Resources(name, 0.95 + execs % 5 / 100, 50 << 20, 2), t)

    for second in range(1, int(past)):
        figures(second)
        if second % 9 == 0:
            writer.append(ev.EntrySaved("i0", second, f"queue/id:{second:06d}", cov=True), second)
    writer.flush()
    lock = RunLock(run)

    def go_on() -> None:
        start = time.monotonic()
        n = 0
        while grow is not None and not grow.wait(1.0):
            t = past + time.monotonic() - start
            figures(t)
            n += 1
            if n % 9 == 0:
                writer.append(ev.EntrySaved("i0", 1000 + n, f"queue/id:{n:06d}", cov=True), t)
            writer.flush()
        lock.release()
        writer.close()

    thread = threading.Thread(target=go_on, daemon=True)
    if grow is not None:
        thread.start()
    return thread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm-up", type=float, default=15.0, help="seconds that do not count")
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--ssh", action="store_true", help="as in an SSH session (2 Hz)")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--age", type=float, default=600.0, help="seconds of the campaigns' past")
    options = parse(parser, "tui_cost", seconds=1.0, warm_up=2.0)
    rows = Rows("tui_cost", options.results)
    width, height = map(int, options.size.split("x"))
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env.pop("SSH_CONNECTION", None)
    env.pop("NO_COLOR", None)
    if options.ssh:
        env["SSH_CONNECTION"] = "10.0.0.1 1 10.0.0.2 22"
    python = sys.executable
    with tempfile.TemporaryDirectory() as tmp:
        size = (width, height)
        results: dict[str, tuple[float, float, int, int]] = {}
        for name in ("CACHE", "CONFIG", "STATE"):
            env[f"XDG_{name}_HOME"] = str(Path(tmp) / name)

        def note(name: str, argv: list[str], keys: str = "") -> None:
            results[name] = measure(argv, options.seconds, options.warm_up, size, env, keys=keys)
            columns = ("bytes_s", "cpu", "first_bytes", "rss")
            rows.add(program=name, **dict(zip(columns, results[name], strict=True)))

        for name in dict.fromkeys(("clock", *options.only)):
            if name == "clock":
                note(name, [python, "-c", CLOCK])
                continue
            stop = None if name == "idle" else threading.Event()
            several = name in ("home", "beside")
            runs = [Path(tmp) / name / f"run{n}" for n in range(RUNS if several else 1)]
            threads = [campaign(run, stop, options.instances, options.age) for run in runs]
            if several:
                keys = "v" if name == "beside" else ""
                note(name, [python, "-c", HOME, str(runs[0].parent)], keys)
            else:
                note(name, [python, "-c", SCREEN, str(runs[0])])
            if stop is not None:
                stop.set()
                for thread in threads:
                    thread.join()
    limit = results["clock"]
    what = f"{options.size}, {options.instances} instances, {options.seconds:.0f} s each"
    print(f"{what}{', as over ssh' if options.ssh else ''}")
    print(f"{'':8}{'bytes/s':>9}{'ratio':>7}{'CPU':>8}{'ratio':>7}{'first paint':>13}{'rss':>8}")
    for name, (rate, cpu, first, rss) in results.items():
        print(
            f"{name:8}{rate:9.0f}{ratio(rate, limit[0]):7.1f}"
            f"{100 * cpu:7.2f}%{ratio(cpu, limit[1]):7.1f}"
            f"{first:11} B{rss >> 20:6} M"
        )


if __name__ == "__main__":
    main()
