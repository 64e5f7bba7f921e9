"""From a key to the painted screen, and from the start to the first paint, with a large campaign.

    python benchmarks/key_to_paint.py [--mutants 100000] [--goes 40] [--starts 5] [--size 120x40]

A real screen in a pseudo-terminal, on a log with 100,000 mutants, 20,000 entries and 100 instances
that stands still. A key is sent when the terminal has been silent for ``QUIET_S``:

* ``first``: until the first frame after the key was written, which is what a user feels;
* ``whole``: until the last byte before the next silence: all results of a filter, and also the
  details that are read 60 ms after the cursor came to rest;
* ``cpu``: the program's CPU time until the first frame, which other load does not prolong much.

First paint is the first frame with the tabs, ``content`` the first one with the campaign's name.

The limit, in the same run: a bare Textual application that moves a highlight in a list, with no
campaign at all. Its figures show what the machine and Textual cost.

Goals: ``first`` below 50 ms for 95% of the keys of each kind, first paint within 0.5 s (warm).
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.figures import median, percentile, ratio
from lab.options import parse
from lab.rows import Rows

GOAL_MS, GOAL_START_S = 50.0, 0.5
QUIET_S = 0.15
"""Silence after which a screen is done; longer than the 60 ms before details are read."""
FRAME_S = 0.004
"""Silence that ends a frame, which is written at once but may be read in parts."""
WAIT_S = 60.0
IDLE_CPU_S = 0.1
"""CPU seconds in one second below which the program only draws its clock."""
PER_EVENT = 300
BATCH = 50
MENU = b"Sort by"
"""Title of the menu that the sort key opens; without a menu, the key itself sorts."""

LIST = """
from textual.app import App
from textual.widgets import OptionList
class Bare(App):
    def compose(self):
        yield OptionList(*[f"row {n:06d}  name  12,345" for n in range(2000)])
Bare().run()
"""

SCREEN = """
import sys
from pathlib import Path
from fuzztui.tui import run_app
run = Path(sys.argv[1])
run_app(run, run, mode="live", theme="midwatch")
"""


class Times(NamedTuple):
    """The milliseconds that a key took."""

    first: float
    whole: float
    cpu: float


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, argv: Sequence[str], size: tuple[int, int]) -> None:
        env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("SSH_CONNECTION", "NO_COLOR", "FUZZTUI_HZ", "FUZZTUI_THEME"):
            env.pop(name, None)
        self.started = time.monotonic()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execve(argv[0], list(argv), env)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def close(self) -> None:
        """End the program at once: what it does when it leaves is not measured."""
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self._pid, 0)

    def until(self, sign: bytes) -> float:
        """Seconds from the start until the program has written ``sign``."""
        seen = b""
        while sign not in seen:
            seen = seen[-len(sign) :] + self._read(WAIT_S)
        return time.monotonic() - self.started

    def settle(self) -> None:
        """Wait until the program is silent."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and self._ready(QUIET_S):
            self._read(0)

    def idle(self) -> None:
        """Wait until the program computes no more: the whole log was read.

        Silence alone does not show that: nothing is written while a part of the log is folded.
        """
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            before, start = self._cpu_s(), time.monotonic()
            while (left := start + 1.0 - time.monotonic()) > 0:
                if self._ready(left):
                    self._read(0)
            if self._cpu_s() - before < IDLE_CPU_S:
                return
        raise TimeoutError(f"the screen still computes after {WAIT_S:.0f} s")

    def _cpu_s(self) -> float:
        return time.clock_gettime((~self._pid << 3) | 2)  # clock_getcpuclockid(3)

    def press(self, key: bytes) -> tuple[Times, bytes]:
        """Send a key. Returns its times, and what was written.

        Raises :class:`TimeoutError` if nothing is written.
        """
        cpu, start = self._cpu_s(), time.monotonic()
        os.write(self._fd, key)
        seen = self._read(WAIT_S)
        first = last = time.monotonic()
        cpu = self._cpu_s() - cpu
        while self._ready(FRAME_S):
            seen += self._read(0)
            first = last = time.monotonic()
        while self._ready(QUIET_S) and time.monotonic() - start < WAIT_S:
            seen += self._read(0)
            last = time.monotonic()
        return Times(1000 * (first - start), 1000 * (last - start), 1000 * cpu), seen

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._fd], [], [], seconds)[0])

    def _read(self, seconds: float) -> bytes:
        if seconds and not self._ready(seconds):
            raise TimeoutError(f"the screen has written nothing for {seconds:.0f} s")
        return os.read(self._fd, 65536)


def campaign(run: Path, mutants: int, entries: int, instances: int) -> None:
    """Write a log as a supervisor does, with checkpoints; 6 of 10 mutants are killed."""
    from fuzztui.kernel.log.writer import LogWriter
    from fuzztui.kernel.model.fold import apply
    from fuzztui.kernel.session import CheckpointKeeper, LiveClock, Session
    from fuzztui.kernel.wire import events as ev
    from fuzztui.kernel.wire.events import Record

    (run / "log").mkdir(parents=True)
    (run / "supervisor").mkdir()
    names = [f"i{n}" for n in range(instances)]
    past = 600.0
    writer = LogWriter(run / "log")
    session = Session(run, LiveClock())
    keeper = CheckpointKeeper(run / "log", session)
    batch: list[Record] = []

    def append(event: ev.Event, t: float) -> None:
        batch.append(writer.append(event, t))
        if len(batch) == BATCH:
            keep()

    def keep() -> None:
        apply(session.state, batch)
        batch.clear()
        writer.flush()
        keeper.keep()

    wall = time.time() - past
    append(ev.CampaignStarted("bench", "mu2", "t:f", 1, 7200.0, 0, names, wall), 0.0)
    append(ev.SupervisorStarted(os.getpid(), wall), 0.0)
    append(ev.CampaignState("running"), 0.0)
    for name in names:
        append(ev.InstanceState(name, "running", 1), 0.0)
    every = list(_mutants(mutants))
    for start in range(0, mutants, PER_EVENT):
        part = every[start : start + PER_EVENT]
        file = f"pkg/module{start // 5000}.py"
        append(ev.MutantsFound("i0", "pkg", file, f"/nowhere/{file}", part), 1.0)
    for n in range(entries):
        append(
            ev.EntrySaved(
                names[n % instances], n // instances, f"queue/id:{n:06d}", size=n % 977, cov=True
            ),
            2.0 + 500.0 * n / entries,
        )
    for n, mutant in enumerate(every):
        if n % 10 < 6:
            killer = f"{names[n % instances]}/{n % max(1, entries // instances)}"
            event = ev.MutantState(
                "i0", str(mutant["id"]), "killed", killer, "value", n, "3, not 4"
            )
            append(event, 510.0)
        elif n % 10 < 9:
            append(ev.MutantState("i0", str(mutant["id"]), "alive"), 510.0)
    for n, name in enumerate(names):
        append(
            ev.Stats(name, 10**6 + n, 2000 + n, 300, 3, 9, 1, 0, 900, 4000, 450, 10**6, 10**6, 1),
            past,
        )
        append(ev.Resources(name, 0.95, 50 << 20, 2), past)
    keep()
    writer.close()
    keeper.close()


def _mutants(count: int) -> Iterable[dict[str, object]]:
    operators = ("boundary", "math", "negate", "returns", "increments")
    verbs = ("parse", "read", "check", "emit")
    for n in range(count):
        function = f"Parser.{verbs[n // 7 % 4]}_{n // 20}"
        operator = operators[n % 5]
        yield {
            "id": f"pkg:{function}:{operator}:{n}:x", "line": n % 5000 + 1, "function": function,
            "operator": operator, "before": f"self.pos < {n}", "after": f"self.pos <= {n}",
        }  # fmt: skip


def measure_keys(terminal: Terminal, goes: int, rows: Rows) -> dict[str, list[Times]]:
    """The times of keys of each kind, in milliseconds."""
    out: dict[str, list[Times]] = {}

    def note(kind: str, times: Times) -> None:
        out.setdefault(kind, []).append(times)
        rows.add(kind=kind, first_ms=times.first, whole_ms=times.whole, cpu_ms=times.cpu)

    def press(kind: str, *keys: bytes) -> None:
        for key in keys:
            terminal.settle()
            note(kind, terminal.press(key)[0])

    for go in range(goes):
        print(f"round {go + 1} of {goes}", file=sys.stderr, flush=True)
        # All kinds in turn, so that other load meets them alike.
        press("move", b"j", b"\x1b[6~")
        press("go to an end", b"G" if go % 2 else b"g", b"\x1b[6~" if not go % 2 else b"\x1b[5~")
        if go % 4 == 0:
            press("tab", b"2", b"4")
        if go % 4 == 1:
            terminal.settle()
            times, seen = terminal.press(b"s")
            if MENU in seen:
                note("open the menu", times)
                terminal.press(b"\x1b[B")
                press("sort", b"\r")
            else:
                note("sort", times)
            press("sort", b"S")
        if go % 4 == 2:
            terminal.settle()
            terminal.press(b"/")
            press("filter", *(bytes([letter]) for letter in b"parse_"), b"\x7f")
            terminal.press(b"\r")
            terminal.settle()
            terminal.press(b"\x1b")  # shows all rows again
        if go % 4 == 3:
            press("mark", b" ", b" ")
            terminal.settle()
            terminal.press(b"\x1b")  # unmarks all rows
            press("open a detail", b"\r")
            terminal.settle()
            terminal.press(b"\x1b")
    return out


def measure_list(terminal: Terminal, goes: int) -> list[Times]:
    """The times of a key in the bare list."""
    out = []
    for _ in range(goes):
        terminal.settle()
        out.append(terminal.press(b"\x1b[B")[0])
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--goes", type=int, default=40, help="rounds over all kinds of keys")
    parser.add_argument("--starts", type=int, default=5, help="warm starts after a cold one")
    parser.add_argument("--size", default="120x40")
    options = parse(
        parser, "key_to_paint", mutants=300, entries=60, instances=3, goes=3, starts=1
    )  # fmt: skip
    rows = Rows("key_to_paint", options.results)
    width, height = map(int, options.size.split("x"))
    size = width, height
    bare = [sys.executable, "-c", LIST]
    with tempfile.TemporaryDirectory() as tmp:
        run = Path(tmp) / "bench"
        campaign(run, options.mutants, options.entries, options.instances)
        ours = [sys.executable, "-c", SCREEN, str(run)]
        starts: dict[str, list[float]] = {"fuzztui": [], "content": [], "limit": []}
        for go in range(options.starts + 1):
            for name, argv, sign in (
                ("fuzztui", ours, b"Overview"),  # a tab
                ("content", ours, b"bench"),  # the campaign's name: known when the log is read
                ("limit", bare, b"row 000003"),
            ):
                terminal = Terminal(argv, size)
                took = terminal.until(sign)
                terminal.close()
                if go:  # the first start is cold
                    starts[name].append(took)
                    rows.add(kind=f"start {name}", seconds=took)
        terminal = Terminal(bare, size)
        terminal.until(b"row 000003")
        limit = measure_list(terminal, options.goes)
        for times in limit:
            rows.add(kind="limit", first_ms=times.first, whole_ms=times.whole, cpu_ms=times.cpu)
        terminal.close()
        terminal = Terminal(ours, size)
        terminal.until(b"bench")
        terminal.idle()
        terminal.press(b"4")
        terminal.idle()
        keys = measure_keys(terminal, options.goes, rows)
        terminal.close()
    print(f"{options.mutants:,} mutants, {options.instances} instances, {options.size}")
    titles = f"{'first p50':>11}{'p95':>8}{'whole p50':>11}{'p95':>8}"
    more = f"{'cpu p50':>9}{'p95':>8}{'ratio':>8}"
    print(f"{'milliseconds':16}{'n':>5}{titles}{more}")
    base = percentile([times.first for times in limit], 0.95)
    missed = []
    for kind, every in {"limit: a list": limit, **keys}.items():
        firsts, wholes, cpus = map(list, zip(*every, strict=True))
        p95 = percentile(firsts, 0.95)
        if kind in keys and p95 >= GOAL_MS:
            missed.append(kind)
        print(
            f"{kind:16}{len(every):5}{median(firsts):11.1f}{p95:8.1f}{median(wholes):11.1f}"
            f"{percentile(wholes, 0.95):8.1f}{median(cpus):9.1f}{percentile(cpus, 0.95):8.1f}"
            f"{ratio(p95, base):8.1f}"
        )
    first_paint = median(starts["fuzztui"])
    for name, seconds in starts.items():
        print(f"first paint, {name}: {median(seconds):.2f} s")
    if first_paint >= GOAL_START_S:
        missed.append("first paint")
    print(f"goal missed by: {', '.join(missed)}" if missed else "goals met")


if __name__ == "__main__":
    main()
