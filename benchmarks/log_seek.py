"""Opening and seeking a long campaign log, against reading it whole.

    python benchmarks/log_seek.py                  # 24 h, 4,000,000 events
    python benchmarks/log_seek.py --events 200000  # a short one
    python benchmarks/log_seek.py --events 8000 --hours 0.2 --mutants 8000  # a young mu2 campaign

Generates the log of a campaign of four instances through the real writer, with the
checkpoints a supervisor writes (``--mutants``: two of them report so many mutants,
their kills and how often they were reached), and measures in one run:

* open: a live session on the run, ready with the final state (goal: < 1 s);
* the reader alone: the index of the log by its members' headers;
* seek: a replay session to random times (goal: p99 < 50 ms);
* the limits: decompressing the whole log, and that plus parsing its JSON, which is
  the least that a log without members and checkpoints could do for either.
"""

from __future__ import annotations

import argparse
import gzip
import heapq
import json
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lab.options import parse
from lab.rows import Rows

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.session import CheckpointKeeper, LiveClock, ReplayClock, Session
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Pause, PromoteEntry, Resume, SkipEntry
from fuzztui.kernel.wire.events import (
    CampaignStarted,
    CampaignState,
    CommandApplied,
    CommandIssued,
    EntryDescribed,
    EntrySaved,
    Event,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Message,
    MutantRuns,
    MutantsFound,
    MutantState,
    MutationStats,
    Resources,
    Stats,
    SupervisorStarted,
)

DAY = 24 * 3600.0
INSTANCES = ["main", "worker-1", "worker-2", "worker-3"]
ENTRIES = 20_000
FINDINGS = 200
COMMANDS = 100


def campaign(events: int, hours: float) -> Iterator[tuple[float, Event]]:
    """A campaign of ``events`` events: mostly statistics, finds dense at the beginning."""
    rng = random.Random(20261121)
    end = hours * 3600
    yield 0.0, CampaignStarted("bench", "zest", "lib:parse", 7, end, 0, INSTANCES, 1.79e9, "0.1")
    yield 0.0, SupervisorStarted(4242, 1.79e9, "box")
    yield 0.1, CampaignState("running")
    for n, name in enumerate(INSTANCES):
        yield 0.2, InstanceState(name, "running", 5000 + n)
        yield 0.3, InstanceHello(name, "zest", "0.1", "3.11", 5000 + n, ["skip", "promote"])
    entries = min(ENTRIES, events // 20)
    findings = min(FINDINGS, events // 200)
    finds = sorted((end * rng.random() ** 3, "entry") for _ in range(entries))
    finds += [(end * rng.random() ** 2, "finding") for _ in range(findings)]
    finds += [(end * rng.random(), "command") for _ in range(min(COMMANDS, events // 500))]
    finds.sort()
    rest = events - 11 - 2 * len(finds)
    # Per instance: statistics about 12 times as often as resources.
    step = end / rest
    execs = dict.fromkeys(INSTANCES, 0)
    saved = dict.fromkeys(INSTANCES, 0)
    edges = dict.fromkeys(INSTANCES, 900)
    crashes = dict.fromkeys(INSTANCES, 0)
    find = 0
    for i in range(rest):
        t = i * step
        while find < len(finds) and finds[find][0] <= t:
            name = rng.choice(INSTANCES)
            kind = finds[find][1]
            if kind == "entry":
                number = saved[name]
                saved[name] += 1
                edges[name] += rng.random() < 0.3
                src = [rng.randrange(number)] if number else []
                file = f"queue/id:{number:06},src:{src[0] if src else 0:06},time:{int(t * 1000)}"
                yield (
                    t,
                    EntrySaved(
                        name,
                        number,
                        f"{file},execs:{execs[name]},op:havoc,rep:4",
                        src,
                        "havoc,rep:4",
                        "",
                        int(t * 1000),
                        execs[name],
                        rng.randrange(4, 4000),
                        rng.random() < 0.3,
                    ),
                )
                yield t, EntryDescribed(name, number, ["edge"], edges[name], False, "success")
            elif kind == "finding":
                number = crashes[name]
                crashes[name] += 1
                file = f"crashes/id:{number:06},sig:00,src:{number:06},time:{int(t * 1000)}"
                yield t, FindingSaved(name, "crash", file, number, [number], "havoc", 0, int(t), 9)
                sig = f"ValueError@{rng.randrange(40)}"
                yield (
                    t,
                    FindingDescribed(
                        name,
                        "crash",
                        file,
                        sig,
                        f"ValueError: {sig}",
                        "lib.py:12 in parse",
                        "Traceback (most recent call last):\n" + "  File 'lib.py', line 12\n" * 20,
                        "b'x'",
                    ),
                )
            else:
                command = rng.choice([Pause(), Resume(), SkipEntry(3, name), PromoteEntry(4, name)])
                yield t, CommandIssued(f"c{find}", encode_command(command), "me@box")
                yield t, CommandApplied(f"c{find}", name, execs[name])
            find += 1
        name = INSTANCES[i % 4]
        if i // 4 % 13 == 12:
            yield t, Resources(name, round(rng.gauss(0.98, 0.02), 3), 90_000_000 + i % 99_999, 3)
            continue
        rate = rng.gauss(2300, 150)
        execs[name] += int(rate * step * 4)
        yield (
            t,
            Stats(
                name,
                execs[name],
                round(rate, 2),
                saved[name],
                saved[name] // 7,
                saved[name] // 3,
                crashes[name],
                0,
                edges[name],
                6000,
                edges[name] // 2,
                execs[name] // 3,
                execs[name] * 2 // 3,
                i // 90_000,
                i % max(1, saved[name]),
                17,
                -1.0,
                round(rng.random(), 3),
            ),
        )
    yield end, Message("info", "the end")


def mutation(mutants: int, end: float) -> list[tuple[float, Event]]:
    """Reports of two instances about mutants: three in four are killed, others reached more often.

    A mutant is reached 0.001 to 100 times a second; the count is reported when it has doubled, at
    most every 10 s, 500 mutants a line.
    """
    rng = random.Random(7)
    ids = [
        f"package.module_{n // 300}:Class.method_{n // 20}:math:{n % 20}:-" for n in range(mutants)
    ]
    told: list[tuple[float, Event]] = []
    for name in INSTANCES[:2]:
        for module in range(0, mutants, 300):
            file = f"package/module_{module // 300}.py"
            for at in range(module, min(mutants, module + 300), 200):
                items = [
                    {
                        "id": key,
                        "line": 10 + n,
                        "function": "Class.method",
                        "operator": "math",
                        "before": "self.position + len(token)",
                        "after": "self.position - len(token)",
                    }
                    for n, key in enumerate(ids[at : min(at + 200, module + 300)])
                ]
                told.append((1.0, MutantsFound(name, file[:-3], file, f"/src/{file}", items)))
        runs: dict[int, dict[str, list[int]]] = {}
        for key in ids:
            rate = 10 ** rng.uniform(-3, 2)
            killed = rng.expovariate(1 / 300) if rng.random() < 0.75 else math.inf
            first = 2 + rng.expovariate(rate)
            if first < min(killed, end):
                told.append((first, MutantState(name, key, "alive")))
            if killed < end:
                word = MutantState(
                    name, key, "killed", f"{name}/{len(runs)}", "value", 99, "3, not 4"
                )
                told.append((max(first, killed), word))
            met, window = 1, -1
            while (t := met / rate) < min(killed, end):
                if int(t // 10) != window:
                    window = int(t // 10)
                    runs.setdefault(window, {})[key] = [met, met // 3, met // 4]
                met *= 2
        for window, figures in runs.items():
            keys = list(figures)
            for at in range(0, len(keys), 500):
                part = {key: figures[key] for key in keys[at : at + 500]}
                told.append((10.0 * window + 10, MutantRuns(name, part)))
        told += [(2.0 * n, MutationStats(name, n, n, n, n, n)) for n in range(int(end // 2))]
    return sorted(told, key=lambda pair: pair[0])


def generate(run: Path, events: int, hours: float, mutants: int) -> float:
    """Write the log as a supervisor does; returns seconds."""
    start = time.perf_counter()
    writer = LogWriter(run / "log")
    session = Session(run, LiveClock())
    keeper = CheckpointKeeper(run / "log", session)
    batch = []
    both = heapq.merge(
        campaign(events, hours),
        mutation(mutants, hours * 3600) if mutants else [],
        key=lambda pair: pair[0],
    )
    for n, (t, event) in enumerate(both, 1):
        batch.append(writer.append(event, t))
        if len(batch) == 50:
            apply(session.state, batch)
            batch.clear()
            writer.flush()
            keeper.keep()
        if n % 20_000 == 0 and sys.stderr.isatty():
            rate = n / (time.perf_counter() - start)
            print(f"\r{n:,} of {events:,} events, {rate:,.0f}/s ", end="", file=sys.stderr)
    apply(session.state, batch)
    writer.close()
    keeper.close()
    print(file=sys.stderr)
    return time.perf_counter() - start


def whole(path: Path) -> tuple[float, float]:
    """Seconds to decompress the sealed log; and with parsing every line as JSON."""
    start = time.perf_counter()
    with gzip.open(path) as f:
        while f.read(1 << 20):
            pass
    unpacked = time.perf_counter() - start
    start = time.perf_counter()
    with gzip.open(path) as f:
        for line in f:
            json.loads(line)
    return unpacked, time.perf_counter() - start


def quantile(values: list[float], q: float) -> float:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--seeks", type=int, default=200)
    parser.add_argument("--run", type=Path, help="keep the log here, and use it if it is there")
    options = parse(parser, "log_seek", events=4000, hours=0.1, mutants=200, seeks=10)
    run = options.run or Path(tempfile.mkdtemp(prefix="fuzztui-log-seek-"))
    try:
        if not (run / "log").is_dir():
            print(f"generating {options.events:,} events in {run}", flush=True)
            took = generate(run, options.events, options.hours, options.mutants)
            print(f"generated in {took:.0f} s, {took / options.events * 1e6:.1f} us an event")
        measure(run, options.seeks, Rows("log_seek", options.results))
    finally:
        if options.run is None:
            shutil.rmtree(run)


def measure(run: Path, seeks: int, rows: Rows) -> None:
    log = run / "log" / "campaign.jsonl.gz"
    cache = run / "log" / "checkpoints.gz"
    size, cached = log.stat().st_size, cache.stat().st_size
    print(f"log {size / 1e6:.1f} MB, checkpoints {cached / 1e6:.1f} MB ({cached / size:.0%})")

    start = time.perf_counter()
    reader = LogReader(run)
    index = time.perf_counter() - start
    start = time.perf_counter()
    live = Session(run, LiveClock())
    while live.poll().records or live.behind:
        pass
    opened = time.perf_counter() - start
    assert live.state.seq == reader.last_seq, "the live session is not at the end"

    replay = Session(run, ReplayClock(paused=True))
    rng = random.Random(1)
    times = []
    for _ in range(seeks):
        t = rng.uniform(0, replay.end_t)
        start = time.perf_counter()
        replay.seek(t)
        while replay.behind:  # work in a call is bounded by time: on a busy machine it is not done
            replay.poll()
        times.append(time.perf_counter() - start)
        seq = replay.state.seq
        near = replay.reader.records(seq - 1, 2)
        assert not replay.behind and [r.seq for r in near if r.t <= t] == [seq]
    unpacked, parsed = whole(log)

    p50, p99 = statistics.median(times), quantile(times, 0.99)
    rows.add(records=live.state.seq, open_s=opened, seek_p50_s=p50, seek_p99_s=p99,
             parse_s=parsed, unpack_s=unpacked)  # fmt: skip
    print(
        f"{live.state.seq:,} records, {len(live.state.entries):,} entries,"
        f" {len(live.state.mutants):,} mutants,"
        f" load {os.getloadavg()[0]:.1f}"
    )
    print(f"limit: decompress all        {unpacked:9.3f} s")
    print(f"limit: decompress and parse  {parsed:9.3f} s")
    print(
        f"reader alone (index)         {index:9.3f} s  1/{unpacked / index:,.0f} of decompressing"
    )
    print(f"open, final state            {opened:9.3f} s  1/{parsed / opened:,.0f} of parsing")
    print(f"seek p50                     {p50 * 1e3:9.1f} ms 1/{parsed / p50:,.0f} of parsing")
    print(f"seek p99                     {p99 * 1e3:9.1f} ms 1/{parsed / p99:,.0f} of parsing")
    print(f"seek max                     {max(times) * 1e3:9.1f} ms")


if __name__ == "__main__":
    main()
