"""Text operators on real compilers: edges and valid inputs against stock AFL++, in equal time.

Each target of sample_campaigns/text_*.toml is built once; then every configuration fuzzes it for
the same time, so many repetitions, one afl-fuzz on one core. Two runs go at a time, each with all
that belongs to it (supervisor, harvester) on a core of its own, and the configurations take turns,
so that a busy moment of the machine meets all of them.

    python experiments/text_targets.py --seconds 600 --repeat 5

A run's row is added to ``results.jsonl`` in the working directory when it ends: started again with
the same words, the benchmark continues with the runs that are missing, and only prints the tables
when there are none. The counts are

- edges: what afl-showmap sees over the queue at the end, with the same program;
- parse: the share of all executed inputs that the parser accepts, counted in the harness, and
  the share of the queue's entries;
- execs: by afl-fuzz's own count.

``stock`` is AFL++'s havoc and splicing under fuzztui, where the only instance is ``-M main`` (in
4.04c: the queue in order, no trimming), as it is for the others; ``plain`` is afl-fuzz without
either, as a user would start it by hand. ``p`` is of the rank-sum test against stock.

Goal: more edges than stock on the majority of targets.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import queue
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w
from lab.figures import ratio, table
from lab.options import parse
from lab.rows import Rows

from fuzztui.tools.report.two_samples import mann_whitney

SAMPLES = Path(__file__).resolve().parent.parent / "sample_campaigns"
TARGETS = ("lua", "mujs", "tcc")
MIXED = {"havoc": 0.25, "text": 0.5, "splice": 0.25, "roll": "step"}
CONFIGS: dict[str, dict[str, Any] | None] = {
    "stock": None,
    "text": {"havoc": 0.25, "text": 0.75, "splice": 0.0, "roll": "step"},
    "splice": MIXED,
    "adaptive": {**MIXED, "adaptive": True},
    "empty": {},
    "plain": None,
}
"""The table ``[text]`` of each, without its language; None: there is no such table. Those of the
published figures draw the class for each step, as fuzztui did then; ``empty`` is the default."""

AFL = {
    "AFL_NO_UI": "1",
    "AFL_SKIP_CPUFREQ": "1",
    "AFL_NO_AFFINITY": "1",
    "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
    "AFL_QUIET": "1",
}
AT_A_TIME = 200
"""Entries that one process of a harness looks at."""


class Failed(Exception):
    """A run that gave no result: said, and tried again when the benchmark is started again."""


@dataclass(frozen=True)
class Target:
    """One compiler, built."""

    name: str
    campaign: dict[str, Any]
    program: Path
    seeds: Path
    digest: str

    @property
    def memory(self) -> str:
        """The argument of -m for afl-fuzz and afl-showmap."""
        return str(self.campaign["target"].get("memory", "none")).removesuffix("MiB")


@dataclass(frozen=True)
class Job:
    """One run."""

    target: str
    config: str
    seconds: int
    repeat: int

    def __str__(self) -> str:
        return f"{self.target} {self.config} {self.repeat}"


def build(name: str, work: Path) -> Target:
    """The target's program by its own build script, unless it is there already."""
    campaign = tomllib.loads((SAMPLES / f"{name}-text.toml").read_text())
    directory = work / "build" / name
    program = directory / name
    if not (directory / ".built").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        print(f"building {name} in {directory}", flush=True)
        env = {**os.environ, **AFL, "CC": "afl-cc", "CXX": "afl-c++", "SOURCE": str(SAMPLES)}
        done = subprocess.run(
            ["sh", "-eu", "-c", campaign["target"]["build"]], cwd=directory, env=env, check=False
        )
        if done.returncode:
            raise SystemExit(f"{name} cannot be built")
        (directory / ".built").touch()
    (seeds,) = campaign["engine"]["seeds"]
    there = directory if seeds.startswith("$BUILD/") else SAMPLES
    digest = hashlib.sha256(program.read_bytes()).hexdigest()[:16]
    return Target(name, campaign, program, there / seeds.removeprefix("$BUILD/"), digest)


def edges(target: Target, folder: Path, scratch: Path) -> int:
    """How many edges the inputs in a directory cover together."""
    out = scratch / "edges"
    subprocess.run(
        ["afl-showmap", "-q", "-C", "-i", folder, "-o", out, "-t", "2000", "-m", target.memory,
         "--", target.program],
        env={**os.environ, **AFL}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if not out.exists():
        raise Failed(f"afl-showmap gave nothing over {folder}")
    return len(out.read_text().splitlines())


def accepted(target: Target, folder: Path) -> tuple[int, int]:
    """How many of the inputs in a directory its parser accepts, and of how many."""
    files = sorted(str(f) for f in folder.iterdir() if f.is_file())
    good, at = 0, 0
    while at < len(files):
        part = files[at : at + AT_A_TIME]
        done = subprocess.run(
            [target.program, *part], capture_output=True, errors="replace", check=False
        )
        said = [line[0] for line in done.stdout.splitlines() if line[:2] in ("+ ", "- ")]
        good += said.count("+")
        # One on which it crashes has no verdict: it continues behind that.
        at += min(len(said) + 1, len(part)) if done.returncode < 0 else len(part)
    return good, len(files)


def campaign_file(target: Target, job: Job, folder: Path) -> Path:
    """The sample campaign, with the program that was built and this configuration."""
    sample = target.campaign
    limits = {k: sample["target"][k] for k in ("timeout", "memory") if k in sample["target"]}
    keys: dict[str, Any] = {
        "campaign": {
            "name": str(job),
            "output": str(folder / "run"),
            "budget": f"{job.seconds}s",
            "seed": job.repeat,
        },
        "target": {
            "command": [str(target.program)],
            "env": {"FUZZTUI_PARSED": str(folder / "parsed")},
            **limits,
        },
        "engine": {"kind": "afl", "instances": 1, "seeds": [str(target.seeds)]},
    }
    text = CONFIGS[job.config]
    if text is not None:
        keys["text"] = {**text, "language": sample["text"]["language"]}
    file = folder / "campaign.toml"
    file.write_text(tomli_w.dumps(keys))
    return file


def command(target: Target, job: Job, folder: Path) -> tuple[list[str], Path]:
    """What is started, and the directory of its afl-fuzz."""
    if job.config != "plain":
        words = ["-m", "fuzztui", str(campaign_file(target, job, folder)), "--headless"]
        return [sys.executable, *words], folder / "run" / "out" / "main"
    limit = target.campaign["target"]["timeout"].removesuffix("ms")
    words = ["afl-fuzz", "-V", str(job.seconds), "-s", str(job.repeat), "-t", f"{limit}+",
             "-m", target.memory, "-i", str(target.seeds), "-o", str(folder / "run"),
             "--", str(target.program)]  # fmt: skip
    return words, folder / "run" / "default"


def measure(target: Target, job: Job, folder: Path, core: int) -> dict[str, Any]:
    """Run it and count. Raises :class:`Failed`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words, out = command(target, job, folder)
    env = {**os.environ, **AFL, "FUZZTUI_PARSED": str(folder / "parsed")}
    began = time.monotonic()
    log = folder / "log"
    with log.open("w") as said:
        process = subprocess.Popen(
            ["taskset", "-c", str(core), *words],
            env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        running.add(process)
        if stopping.is_set():
            process.terminate()
        status = process.wait()
        running.discard(process)
    spent = time.monotonic() - began
    if stopping.is_set() or spent < job.seconds:
        raise Failed(f"ended after {spent:.0f} s (see {folder})")
    stats = dict(figures(out / "fuzzer_stats")) if (out / "fuzzer_stats").exists() else {}
    if status not in (0, 10) or not stats:  # 10: fuzztui has findings
        last = log.read_text(errors="replace").strip().splitlines()[-3:]
        raise Failed(f"exit status {status}: {' / '.join(last)} (see {folder})")
    good, entries = accepted(target, out / "queue")
    inputs, valid = struct.unpack("<QQ", (folder / "parsed").read_bytes())
    return {
        "target": job.target,
        "config": job.config,
        "seconds": job.seconds,
        "repeat": job.repeat,
        "program": target.digest,
        "text": CONFIGS[job.config],
        "edges": edges(target, out / "queue", folder),
        "execs": int(stats["execs_done"]),
        "entries": entries,
        "entries_parse": good,
        "inputs": inputs,
        "inputs_parse": valid,
        "crashes": int(stats["saved_crashes"]),
        "stability": stats["stability"],
        "core": core,
        "took_s": round(spent, 1),
    }


def figures(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text().splitlines():
        key, _, value = line.partition(":")
        yield key.strip(), value.strip()


def plan(args: argparse.Namespace, done: set[tuple[str, str, int]]) -> list[Job]:
    """The runs that are missing, so that each pair of neighbours is another pair each time."""
    jobs = []
    for repeat in range(1, args.repeat + 1):
        for target in args.targets:
            turn = (repeat - 1) % len(args.configs)
            for config in args.configs[turn:] + args.configs[:turn]:
                if (target, config, repeat) not in done:
                    jobs.append(Job(target, config, args.seconds, repeat))
    return jobs


running: set[subprocess.Popen[bytes]] = set()
stopping = threading.Event()


def work_through(jobs: list[Job], cores: list[int], run: Callable[[Job, int], None]) -> None:
    """All jobs, one at a time on each core. Ctrl-C or SIGTERM ends what is in progress."""

    def end(*_: object) -> None:
        stopping.set()
        for process in list(running):
            process.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    left: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        left.put(job)

    def worker(core: int) -> None:
        while not stopping.is_set():
            try:
                job = left.get_nowait()
            except queue.Empty:
                return
            run(job, core)

    threads = [threading.Thread(target=worker, args=(core,)) for core in cores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if stopping.is_set():
        sys.exit("ended: what was finished is kept")


def spread(values: list[float], form: str) -> str:
    return f"{median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def tables(results: list[dict[str, Any]], args: argparse.Namespace, base: dict[str, int]) -> None:
    """Of each target one line a configuration, and on how many there were more edges."""
    rows, better = [], dict.fromkeys(args.configs, 0)
    for target in args.targets:
        rows.append([target, "seeds", "", f"{base[target]:,}", "", "", "", "", ""])
        stock = [r["edges"] for r in results if (r["target"], r["config"]) == (target, "stock")]
        for config in args.configs:
            runs = [r for r in results if (r["target"], r["config"]) == (target, config)]
            if not runs:
                continue
            found = [r["edges"] for r in runs]
            compared = bool(stock) and config != "stock"
            better[config] += compared and median(found) > median(stock)
            rows.append([
                "", config, len(runs), spread(found, ",.0f"),
                f"{100 * (ratio(median(found), median(stock)) - 1):+.1f}%" if compared else "",
                f"{mann_whitney(found, stock):.3f}" if compared else "",
                spread([100 * ratio(r["inputs_parse"], r["inputs"]) for r in runs], ".1f"),
                spread([100 * ratio(r["entries_parse"], r["entries"]) for r in runs], ".1f"),
                f"{median(r['execs'] for r in runs) / 1000:,.0f}",
            ])  # fmt: skip
    heads = ["target", "", "runs", "edges", "to stock", "p", "inputs that parse, %",
             "entries, %", "1,000 execs"]  # fmt: skip
    print(f"\n{args.seconds} s a run, one afl-fuzz on one core; median (least-most)")
    print(table(heads, rows))
    stable = [float(r["stability"].removesuffix("%")) for r in results]
    print(f"stability of the targets: {min(stable, default=0):.1f}% or more")
    for config, count in better.items():
        if config not in ("stock", "plain"):
            print(f"{config}: more edges than stock on {count} of {len(args.targets)} targets")


def words(allowed: tuple[str, ...]) -> Callable[[str], list[str]]:
    """An argparse type: some of these, by commas."""

    def parse(value: str) -> list[str]:
        names = value.split(",")
        if unknown := [name for name in names if name not in allowed]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r}: there are {', '.join(allowed)}")
        return names

    return parse


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    default = [name for name in CONFIGS if name != "plain"]
    parser.add_argument("--targets", type=words(TARGETS), default=list(TARGETS))
    parser.add_argument("--configs", type=words(tuple(CONFIGS)), default=default)
    parser.add_argument("--seconds", type=int, default=600, help="of each run")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=2, help="how many runs at a time")
    parser.add_argument("--keep", action="store_true", help="the runs, not only their figures")
    parser.add_argument("--work", type=Path, default=home / "fuzztui" / "text-targets")
    parser.add_argument("--results", type=Path, help="default: results.jsonl in --work")
    args = parse(parser, "text_targets", targets=["mujs"], configs=["stock", "text"], seconds=1,
                 repeat=1, at_once=1)  # fmt: skip
    args.results = args.results or args.work.absolute() / "results.jsonl"
    return args


def main() -> None:
    args = options()
    work: Path = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    targets = {name: build(name, work) for name in args.targets}
    rows = Rows("text_targets", args.results)
    results = [r for r in rows.read() if r["seconds"] == args.seconds]
    # Of another build the edges are others, and of another mixture everything.
    known = {name: target.digest for name, target in targets.items()}
    results = [r for r in results if known.get(r["target"]) == r["program"]]
    results = [r for r in results if CONFIGS.get(r["config"]) == r["text"]]
    jobs = plan(args, {(r["target"], r["config"], r["repeat"]) for r in results})
    cores = sorted(os.sched_getaffinity(0))[: args.at_once]
    print(f"{len(results)} runs are in {rows.file}, {len(jobs)} are to be made: about "
          f"{len(jobs) * args.seconds / len(cores) / 60:.0f} minutes", flush=True)  # fmt: skip
    lock = threading.Lock()
    failed: list[Job] = []

    def run(job: Job, core: int) -> None:
        folder = work / "runs" / f"{job.target}-{job.config}-{job.repeat}"
        try:
            result = measure(targets[job.target], job, folder, core)
        except (Failed, OSError) as e:
            print(f"{job}: FAILED: {e}", flush=True)
            failed.append(job)
            return
        with lock:
            rows.add(**result)
            results.append(result)
            share = 100 * result["inputs_parse"] / result["inputs"]
            print(f"{job}: {result['edges']:,} edges, {share:.1f}% parse, "
                  f"{result['execs']:,} execs", flush=True)  # fmt: skip
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)

    work_through(jobs, cores, run)
    base = {name: edges(target, target.seeds, work) for name, target in targets.items()}
    results = [r for r in results if r["repeat"] <= args.repeat]
    tables(results, args, base)
    if failed:
        sys.exit(f"{len(failed)} runs failed: start it again to have them made")


if __name__ == "__main__":
    main()
