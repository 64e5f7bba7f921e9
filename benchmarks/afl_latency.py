"""How long a crash that afl-fuzz saves takes to the log of a supervised campaign.

    python benchmarks/afl_latency.py [--seconds 60] [--instances 1] [--afl DIR] [--keep]

A real campaign (``fuzztui FILE --detach``, the real afl-fuzz) on a C program that crashes at
4,000 places and has 8,000 more paths, so that both crashes and queue entries keep coming
while triage runs the crashes again. Timed, each in a separate process:

* inotify: a process that does nothing but read inotify events, niced to -10 where allowed;
* watchdog: its plain Observer, the limit: the delay that anybody's handler in Python has;
* the log: a reader of the campaign's log that looks every 5 ms.

All are counted from the file's mtime: afl-fuzz closes a crash file at once after it has
written it, and that stamp is never late (up to one kernel tick early), while a process that
watches for the close itself notices it late on a busy machine. A file that is in ``crashes/`` at
the end and was not reported is lost. The worst delays are of the first half second, before
``crashes/`` was noticed.

Goal: p95 below 250 ms, none lost.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lab.figures import median, percentile, ratio, table
from lab.options import parse
from lab.rows import Rows

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.events import EntrySaved, FindingDescribed, FindingSaved

GOAL_MS = 250.0
CRASHES, PATHS = 4000, 8000
POLL_S = 0.005

CLOSE_WRITE, MOVED_TO = 0x8, 0x80
IGNORED = ("README.txt",)


def source() -> str:
    """A program in which every crash, and every path, has an edge of its own."""
    crashes = "\n".join(f"case {n}: *(volatile int *)0 = {n}; break;" for n in range(CRASHES))
    paths = "\n".join(f"case {n}: sink = {n}; break;" for n in range(PATHS))
    return f"""
#include <stdint.h>
#include <unistd.h>
volatile int sink;
int main(void) {{
  unsigned char b[4096];
  ssize_t n = read(0, b, sizeof b);
  uint32_t h = 2166136261u;
  for (ssize_t i = 0; i < n; i++) h = (h ^ b[i]) * 16777619u;
  h ^= h >> 15, h *= 0x2c1b3c6du, h ^= h >> 12;
  uint32_t what = h % 512, which = h >> 9;
  if (what < 4) switch (which % {CRASHES}) {{ {crashes} }}
  else if (what < 24) switch (which % {PATHS}) {{ {paths} }}
  return 0;
}}
"""


def note(how: str, directory: Path) -> None:
    """Print the name of each file that appears, with its delay in milliseconds."""
    with suppress(OSError):
        os.nice(-10)
    while not directory.is_dir():
        time.sleep(0.001)

    def tell(name: str) -> None:
        now = time.time()
        if name not in IGNORED:
            with suppress(OSError):
                delay = 1000 * (now - (directory / name).stat().st_mtime)
                print(json.dumps([name, delay]), flush=True)

    (plain if how == "inotify" else observed)(directory, tell)


def plain(directory: Path, tell: Callable[[str], None]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init()
    if libc.inotify_add_watch(fd, os.fsencode(directory), CLOSE_WRITE | MOVED_TO) < 0:
        raise SystemExit(f"inotify: {os.strerror(ctypes.get_errno())}")
    while True:
        data, at = os.read(fd, 1 << 16), 0
        while at < len(data):
            size = struct.unpack_from("iIII", data, at)[3]
            tell(os.fsdecode(data[at + 16 : at + 16 + size].rstrip(b"\0")))
            at += 16 + size


def observed(directory: Path, tell: Callable[[str], None]) -> None:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    class Handler(FileSystemEventHandler):
        def on_closed(self, event: FileSystemEvent) -> None:
            tell(Path(os.fsdecode(event.src_path)).name)

        def on_moved(self, event: FileSystemEvent) -> None:
            tell(Path(os.fsdecode(event.dest_path)).name)

    observer = Observer()
    observer.schedule(Handler(), str(directory))
    observer.start()
    observer.join()


def begin(folder: Path, args: argparse.Namespace) -> Path:
    """Start the campaign; its run directory."""
    run, campaign, code = folder / "run", folder / "latency.toml", folder / "target.c"
    code.write_text(source())
    (folder / "seeds").mkdir()
    (folder / "seeds" / "a").write_text("a seed of some length, to be changed at many places")
    tools = f"afl_path = {json.dumps(str(args.afl.resolve()))}\n" if args.afl else ""
    campaign.write_text(
        f"[campaign]\noutput = {json.dumps(str(run))}\n"
        f"budget = {json.dumps(f'{args.seconds:g}s')}\nseed = 1\n"
        '[target]\ncommand = ["./target"]\nbuild = "$CC -O0 -o target $SOURCE/target.c"\n'
        f'[engine]\nkind = "afl"\nseeds = ["seeds"]\ninstances = {args.instances}\n{tools}'
    )
    subprocess.run(
        [sys.executable, "-m", "fuzztui", campaign, "--detach"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return run


def noted(file: Path) -> dict[str, float]:
    return dict(json.loads(line) for line in file.read_text().splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--afl", type=Path, help="the directory of another AFL++'s programs")
    parser.add_argument("--keep", action="store_true", help="keep the run directory")
    parser.add_argument("--note", nargs=2, help=argparse.SUPPRESS)
    args = parse(parser, "afl_latency", seconds=4.0)
    if args.note:
        note(args.note[0], Path(args.note[1]))
        return
    folder = Path(tempfile.mkdtemp(prefix="afl-latency-"))
    crashes = folder / "run" / "out" / "main" / "crashes"
    noters = {}
    for how in ("inotify", "watchdog"):
        with (folder / how).open("w") as out:
            noters[how] = subprocess.Popen(
                [sys.executable, __file__, "--note", how, crashes], stdout=out
            )
    try:
        run = begin(folder, args)
        logged: dict[str, float] = {}
        entries = described = last = 0
        reader = LogReader(run)
        alive = True
        while alive:  # and once more after its end
            alive = running(run) is not None
            reader.refresh()
            for record in reader.records(after_seq=last):
                last, event = record.seq, record.event
                entries += isinstance(event, EntrySaved)
                described += isinstance(event, FindingDescribed)
                if isinstance(event, FindingSaved) and event.instance == "main":
                    now, name = time.time(), event.file.partition("/")[2]
                    if event.category == "crash":
                        logged[name] = 1000 * (now - (crashes / name).stat().st_mtime)
            time.sleep(POLL_S)
        for noter in noters.values():
            noter.terminate()
            noter.wait()
        names = {p.name for p in crashes.iterdir()} - set(IGNORED)
        found, rows = [], Rows("afl_latency", args.results)
        columns = {how: noted(folder / how) for how in noters} | {"fuzztui's log": logged}
        # What the noters were too late for, at the start, is left out of the comparison.
        common = set.intersection(*map(set, columns.values())) & names
        for how, delays in columns.items():
            took = sorted(delays[name] for name in common)
            figures = {"median_ms": median(took), "p95_ms": percentile(took, 0.95)}
            lost = len(names - delays.keys())
            rows.add(
                to=how,
                **figures,
                worst_ms=max(took, default=math.nan),
                crashes=len(common),
                lost=lost,
            )
            found.append(
                (
                    how,
                    *(f"{ms:.1f}" for ms in figures.values()),
                    f"{max(took, default=math.nan):.1f}",
                    lost,
                )
            )
        print(
            f"{len(names)} crashes in {args.seconds:g} s, {len(common)} compared; {entries} queue "
            f"entries, {described} crashes described meanwhile"
        )
        print(table(["mtime to, ms", "median", "p95", "worst", "lost"], found))
        p95s = [percentile([d[n] for n in common], 0.95) for d in columns.values()]
        print(f"p95 against watchdog's: {ratio(p95s[2], p95s[1]):.1f}; goal: below {GOAL_MS:g} ms")
    finally:
        for noter in noters.values():
            noter.kill()
        if args.keep:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
