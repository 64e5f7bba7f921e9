"""How long a new group of findings takes to a user: to every screen, and to ``notify.command``.

    python benchmarks/notice_latency.py [--findings 30] [--kind zest] [--results FILE]

A real campaign, with a screen attached in a pseudo-terminal (on another tab than Findings). A seed
that fails at a new place is added every second or so; measured from the mtime of the finding's
file:

* screen: the terminal gets the bell that comes with the notification;
* command: ``notify.command`` has started.

The fuzzing itself uses one core and the screen part of another.

Goal: p95 of both below 1 s, none missing.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import random
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from lab.figures import median, percentile, table
from lab.options import parse
from lab.rows import Rows

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.events import FindingSaved

GOAL_S = 1.0
PLACES = 400
WAIT_S = 30.0

HOOK = """#!/bin/sh
cd {folder}
now=$(date +%s.%N)
{{ printf '{{"at": %s, "object": ' "$now"; tr -d '\\n'; printf '}}\\n'; }} >> news
"""

PYTHON = "\n".join(
    [
        "def check(data):",
        "    text = data.decode('latin-1')",
        *(
            line
            for n in range(PLACES)
            for line in (f"    if text == 'place {n}!':", f"        raise KeyError({n})")
        ),
    ]
)

C = "\n".join(
    [
        "#include <stdio.h>",
        "#include <string.h>",
        *(
            f"__attribute__((noinline)) void f{n}(void) {{ *(volatile int *)0 = {n}; }}"
            for n in range(PLACES)
        ),
        "int main(void) { char b[64] = {0}; fread(b, 1, 63, stdin);",
        *(f'if (!strcmp(b, "place {n}!")) f{n}();' for n in range(PLACES)),
        "return 0; }",
    ]
)


def begin(folder: Path, kind: str) -> Path:
    """Start the campaign, and wait until it runs. Returns its run directory."""
    hook = folder / "hook"
    hook.write_text(HOOK.format(folder=folder))
    hook.chmod(0o755)
    (folder / "seeds").mkdir()
    (folder / "seeds" / "a").write_text("harmless")
    (folder / "app.py").write_text(PYTHON)
    (folder / "target.c").write_text(C)
    target = {
        "zest": 'function = "app:check"',
        "afl": 'command = ["./target"]\nbuild = "$CC -O0 -g -o target $SOURCE/target.c"',
    }[kind]
    # The engine must not find the places by itself.
    alone = "comparisons = false\nconstants = false\n" if kind == "zest" else ""
    (folder / "c.toml").write_text(
        f"[campaign]\noutput = {json.dumps(str(folder / 'run'))}\nseed = 1\n"
        f'[target]\n{target}\n[engine]\nkind = "{kind}"\nseeds = ["seeds"]\n{alone}'
        '[notify]\ncommand = "./hook"\non = ["findings"]\nmax_per_hour = 3600\n'
    )
    subprocess.run(
        [sys.executable, "-m", "fuzztui", folder / "c.toml", "--detach"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return folder / "run"


class Screen:
    """``fuzztui attach`` in a pseudo-terminal, and when its bell rang."""

    def __init__(self, run: Path) -> None:
        self.bells: list[float] = []
        pid, self._fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LINES="40")
            os.execv(sys.executable, [sys.executable, "-m", "fuzztui", "attach", str(run)])
        self._pid = pid
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        tail = b""
        while True:
            try:
                select.select([self._fd], [], [])
                data = os.read(self._fd, 1 << 16)
            except OSError:
                return
            now = time.time()
            # Operating system commands end in BEL too: these are no bells.
            text = re.sub(rb"\x1b\][^\x07\x1b]*\x07", b"", tail + data)
            self.bells += [now] * text.count(b"\x07")
            at = text.rfind(b"\x1b]")
            tail = text[at:] if at >= 0 and b"\x07" not in text[at:] else b""

    def keys(self, keys: str) -> None:
        """Type keys."""
        os.write(self._fd, keys.encode())

    def close(self) -> None:
        """Leave the screen."""
        self.keys("q")
        os.waitpid(self._pid, 0)
        os.close(self._fd)


def news(folder: Path) -> dict[str, float]:
    """When ``notify.command`` started, by the finding that it reports."""
    file = folder / "news"
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    reports = [json.loads(line) for line in lines if line.endswith("\n")]
    return {new["finding"]: one["at"] for one in reports for new in one["object"].get("new", [])}


def saved(run: Path) -> dict[str, float]:
    """The mtime of each finding's file, by its key."""
    events = [r.event for r in LogReader(run).records() if isinstance(r.event, FindingSaved)]
    files = {f"{e.instance}/{e.file}": run / "out" / e.instance / e.file for e in events}
    return {key: file.stat().st_mtime for key, file in files.items()}


def measure(folder: Path, kind: str, findings: int) -> list[dict[str, Any]]:
    """Add failing seeds one after the other. Returns a row for each reported finding."""
    run = begin(folder, kind)
    screen = Screen(run)
    rows: list[dict[str, Any]] = []
    try:
        time.sleep(3 if kind == "zest" else 6)
        screen.keys("2")
        rng = random.Random(1)
        for n in range(findings):
            time.sleep(1 + rng.random())
            rung = len(screen.bells)
            seed = folder / f"place{n}"
            seed.write_text(f"place {n}!")
            fuzztui = [sys.executable, "-m", "fuzztui"]
            subprocess.run([*fuzztui, "ctl", run, "add-seed", seed], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            end = time.monotonic() + WAIT_S
            while len(news(folder)) <= n and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(0.5)
            files, started = saved(run), news(folder)
            new = [key for key in started if key not in {row["finding"] for row in rows}]
            for key in new:
                bell = next((b for b in screen.bells[rung:] if b >= files[key]), None)
                rows.append(
                    {
                        "finding": key,
                        "screen_s": None if bell is None else bell - files[key],
                        "command_s": started[key] - files[key],
                    }
                )
            print(f"\r[{n + 1}/{findings}]", end="", file=sys.stderr, flush=True)
    finally:
        screen.close()
        if running(run):
            subprocess.run([sys.executable, "-m", "fuzztui", "ctl", run, "stop"], check=False,
                           stdout=subprocess.DEVNULL)  # fmt: skip
        while running(run):
            time.sleep(0.05)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--findings", type=int, default=30)
    parser.add_argument("--kind", choices=("zest", "afl"), default="zest")
    args = parse(parser, "notice_latency", findings=2)
    with tempfile.TemporaryDirectory(prefix="notice-") as folder:
        rows = measure(Path(folder), args.kind, args.findings)
    screen = [row["screen_s"] for row in rows if row["screen_s"] is not None]
    command = [row["command_s"] for row in rows]
    figures = []
    for name, delays in (("every screen", screen), ("notify.command", command)):
        if delays:
            p95 = percentile(delays, 0.95)
            figures.append([name, len(delays), f"{median(delays):.3f}", f"{p95:.3f}"])
    print(table(["to", "n", "median s", "p95 s"], figures))
    missing = args.findings - len(screen), args.findings - len(command)
    met = not any(missing) and max(percentile(screen, 0.95), percentile(command, 0.95)) < GOAL_S
    print(f"missing: {missing[0]} on the screen, {missing[1]} by command; goal met: {met}")
    for row in rows:
        Rows("notice_latency", args.results).add(kind=args.kind, **row)


if __name__ == "__main__":
    main()
