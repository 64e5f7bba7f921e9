"""The Source screen on a file of 10,000 lines, while two instances run.

    python benchmarks/source_screen.py [--lines 10000] [--goes 60] [--mutants 3000]

A real log grows by the records of two instances (lines that are covered first, kills, statistics),
which another process writes. CPU milliseconds until painted, 120x40: of a key that moves by a line
or a page, of one that leaps to the other end, and of an update by 40 records. The peer is Textual's
TextArea with the same text, which shows nothing about its lines.

Goal: 95% of the moves and updates within a frame (1/60 s).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from hashlib import sha256
from pathlib import Path

from lab.figures import median, percentile, ratio
from lab.options import parse
from lab.rows import Rows
from textual.app import App, ComposeResult
from textual.widgets import TextArea

from fuzztui.features.source.screen.screen import SourceScreen
from fuzztui.kernel.base import ranges
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.session import LiveClock, Session
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.app.app import FuzzApp, Opening
from fuzztui.tui.base.pauses import short_pauses
from fuzztui.tui.base.themes import load_themes

FRAME_MS = 1000 / 60
NAMES = ("main", "s1")
FUNCTION = 12
"""Lines of a function."""


def text(lines: int) -> str:
    """A module with a function each 12 lines."""
    parts = []
    for n in range(lines // FUNCTION):
        body = [f"    value_{n} = value + {k} if value > {k} else {k}" for k in range(FUNCTION - 4)]
        parts += [f"def function_{n}(value):", *body, f"    return value_{n}", "", ""]
    return "\n".join(parts[:lines]) + "\n"


def first_events(file: Path, lines: int, mutants: int) -> Iterator[ev.Event]:
    """The campaign until the screen is opened."""
    yield ev.CampaignStarted("bench", "mu2", "m:f", 1, 7200.0, 0, list(NAMES), time.time())
    yield ev.SupervisorStarted(1, time.time())
    yield ev.CampaignState("running")
    starts = range(1, lines - FUNCTION, FUNCTION)
    statements = [n for n in range(1, lines) if n % FUNCTION not in (11, 0)]
    blocks = [n for at in starts for n in (at + 1, at + 2)]
    for name in NAMES:
        yield ev.InstanceState(name, "running", 1)
        yield ev.SourceFile(
            name,
            str(file),
            "module",
            sha256(file.read_bytes()).hexdigest()[:16],
            ranges.encode(statements),
            [f"{at}-{at + FUNCTION - 3} function_{n}" for n, at in enumerate(starts)],
            blocks,
            statements,
        )
    for start in range(0, mutants, 300):
        rows = [
            {"id": f"m:{n}", "line": 2 + n * 7 % (lines - 2), "function": "f", "operator": "math",
             "before": "a + b", "after": "a - b"}
            for n in range(start, min(start + 300, mutants))
        ]  # fmt: skip
        yield ev.MutantsFound("main", "module", "module.py", str(file), rows)


def later_events(file: Path, lines: int, mutants: int, seed: int) -> Iterator[list[ev.Event]]:
    """What two instances report, in batches."""
    rng = random.Random(seed)
    entry = 0
    while True:
        batch: list[ev.Event] = []
        for name in NAMES:
            entry += 1
            at = rng.randrange(lines)
            found = ranges.encode(range(at, at + 4))
            batch += [
                ev.EntrySaved(name, entry, f"queue/id:{entry:06d}", size=9, cov=True),
                ev.LinesCovered(name, entry, {str(file): found}, {str(file): found}),
                ev.MutantState(name, f"m:{rng.randrange(mutants)}", "killed", f"{name}/{entry}"),
                ev.Stats(name, entry * 1000, 1000.0, entry),
            ]
        yield batch


def write_on(run: Path, file: Path, lines: int, mutants: int, hz: float) -> None:
    """Append records until killed: the other process."""
    writer = LogWriter(run / "log")
    for batch in later_events(file, lines, mutants, 5):
        for event in batch:
            writer.append(event, writer.last_t + 0.5 / hz)
        writer.flush()
        time.sleep(1 / hz)


Go = Callable[[str], Awaitable[None]]


async def ours(run: Path, file: Path, args: argparse.Namespace) -> dict[str, list[float]]:
    """CPU milliseconds by operation."""
    themes, _ = load_themes()
    opening = Opening(
        session=lambda: Session(run, LiveClock()), reader=lambda: LogReader(run), run=run
    )
    app = FuzzApp(opening, themes, "midwatch")
    took: dict[str, list[float]] = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("8")
        screen = app.screen
        assert isinstance(screen, SourceScreen)
        while not screen.code.rows.total:
            await asyncio.sleep(0.01)
        await pilot.press("t")
        await _settled(app)
        command = [sys.executable, __file__, "--write", str(run), "--file", str(file)]
        command += ["--lines", str(args.lines), "--mutants", str(args.mutants)]
        other = subprocess.Popen(command)
        try:
            await asyncio.sleep(1.0)
            await _moves(pilot.press, pilot.pause, took, args.goes)
        finally:
            other.kill()
            other.wait()
        # An update, alone: what a poll has brought, until it is painted.
        await _settled(app)
        writer = LogWriter(run / "log")
        batches = later_events(file, args.lines, args.mutants, 9)
        for _ in range(args.goes):
            for _ in range(5):
                for event in next(batches):
                    writer.append(event, writer.last_t + 0.1)
            writer.flush()
            start = time.process_time()
            app.nudge()
            while app.campaign.seq < writer.last_seq:
                await asyncio.sleep(0)
            await pilot.pause()
            took.setdefault("update", []).append(1000 * (time.process_time() - start))
        writer.close()
    return took


async def _settled(app: FuzzApp) -> None:
    """Wait until the whole log was read."""
    while app.session is None or app.session.behind:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)


async def _moves(
    press: Callable[[str], Awaitable[None]],
    pause: Callable[[], Awaitable[None]],
    took: dict[str, list[float]],
    goes: int,
) -> None:
    keys = {"line": ["down"] * goes, "page": ["pagedown"] * goes, "leap": ["end", "home"] * goes}
    if not took:
        await press("home")
    for name, every in keys.items():
        for key in every[:goes]:
            start = time.process_time()
            await press(key)
            await pause()
            took.setdefault(name, []).append(1000 * (time.process_time() - start))


async def peer(content: str, goes: int) -> dict[str, list[float]]:
    """The same keys in a TextArea; its ends have other keys."""

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield TextArea(content, read_only=True, show_line_numbers=True)

    took: dict[str, list[float]] = {}
    async with Bare().run_test(size=(120, 40)) as pilot:

        async def press(key: str) -> None:
            area = pilot.app.query_one(TextArea)
            if key in ("home", "end"):
                area.move_cursor(area.document.end if key == "end" else (0, 0))
            else:
                await pilot.press(key)

        await _moves(press, pilot.pause, took, goes)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--mutants", type=int, default=3_000)
    parser.add_argument("--goes", type=int, default=60, help="keys and updates of each kind")
    parser.add_argument(
        "--hz", type=float, default=20.0, help="batches per second of two instances"
    )
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parse(parser, "source_screen", lines=600, mutants=60, goes=3)
    if args.write:
        write_on(args.write, args.file, args.lines, args.mutants, args.hz)
        return
    kept = Rows("source_screen", args.results)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        (run / "supervisor").mkdir(parents=True)
        file = Path(folder) / "module.py"
        content = text(args.lines)
        file.write_text(content)
        writer = LogWriter(run / "log")
        for event in first_events(file, args.lines, args.mutants):
            writer.append(event, writer.last_t + 0.01)
        writer.close()
        with short_pauses():  # as every command that shows the screens
            mine = asyncio.run(ours(run, file, args))
    theirs = asyncio.run(peer(content, args.goes))
    print(f"{args.lines:,} lines{'':6}{'median ms':>10}{'95% ms':>8}{'TextArea':>10}{'ratio':>8}")
    for name, values in mine.items():
        other = theirs.get(name, [])
        known = {"peer_ms": median(other)} if other else {}
        kept.add(
            operation=name,
            lines=args.lines,
            ms=median(values),
            ms95=percentile(values, 0.95),
            **known,
        )
        beside = (
            f"{median(other):10.1f}{ratio(median(other), median(values)):8.1f}" if other else ""
        )
        print(f"{name:18}{median(values):10.1f}{percentile(values, 0.95):8.1f}{beside}")
    within = all(percentile(mine[name], 0.95) <= FRAME_MS for name in ("line", "page", "update"))
    print(f"within a frame of {FRAME_MS:.1f} ms: {'yes' if within else 'no'}")


if __name__ == "__main__":
    main()
