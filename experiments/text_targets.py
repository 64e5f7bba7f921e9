"""Text mutators on real compilers: edges and valid inputs against stock AFL++.

Each of the compilers and interpreters of lab/text/compilers.py is built once; then each arm fuzzes
each of them with as many random seeds, for the same time or the same number of executions. A run is
one afl-fuzz on one core, with all that belongs to it (supervisor, collector of fragments). The arms
take turns, so that a busy moment of the machine meets all of them.

    python experiments/text_targets.py --seconds 300 --repeat 5 --jobs 2
    python experiments/text_targets.py --execs 200000 --repeat 5     # where others use the machine

A run's row is added to ``runs.jsonl`` in the working directory when the run ends: started again
with the same words, the experiment continues with the runs that are missing; ``--report`` starts
none, and prints the tables of those that are there. The columns:

- edges: what afl-showmap sees over the queue at the end, with the same program; "to stock": the
  medians' ratio; p: of the exact rank-sum test against stock;
- early: the same after 1/60, 1/30 and 1/5 of the budget (of five minutes 5, 10 and 60 s): for stock
  the edges, for other arms their ratio to stock's;
- valid: the share of the executed inputs that the parser accepts, counted in the harness; "times":
  of stock's share.

Below are the geometric means over all subjects, over those that were seen before and over new ones,
and on how many subjects an arm has more or fewer edges than stock, beyond chance (p < 0.05). The
last table shows which text mutators pay, in the first arm that has them.

``stock`` is AFL++'s havoc and splicing under fuzztui, where the only instance is ``-M main`` (in
4.04c: the queue in order, no trimming), as it is for the others; ``plain`` is afl-fuzz without
either, as a user would start it by hand. ``empty`` is an empty table ``[text]``, the default.

Goal: never fewer edges than stock beyond chance on eight compilers, four of them new, 5 repetitions
of 5 minutes; +5% edges in the mean; three times the valid inputs.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w
from lab.options import parse
from lab.rows import Rows
from lab.text import tables
from lab.text.compilers import AFL, COMPILERS, Built, build, edges_after

PUBLISHED = {"roll": "step", "rules": False}
MIXED = {"havoc": 0.25, "text": 0.5, "splice": 0.25, **PUBLISHED}
ARMS: dict[str, dict[str, Any] | None] = {
    "stock": None,
    "empty": {},
    "no-rules": {"rules": False},
    "text": {"havoc": 0.25, "text": 0.75, "splice": 0.0, **PUBLISHED},
    "splice": MIXED,
    "adaptive": {**MIXED, "adaptive": True},
    "plain": None,
}
"""The table ``[text]`` of each arm; None: there is no such table. Where probabilities are given,
fuzztui guesses no language, so the subject's is added."""
DEFAULT_ARMS = ["stock", "empty", "no-rules"]
EARLY = (60, 30, 5)
"""The early points are these parts of the budget."""


class Failed(Exception):
    """A run that gave no result: printed, and made again when the experiment is started again."""


@dataclass(frozen=True)
class Budget:
    """What a run may spend."""

    amount: int
    unit: str
    """``s`` or ``execs``."""

    def __str__(self) -> str:
        return f"{self.amount:,} {self.unit}"

    @property
    def key(self) -> str:
        """The part of an entry's name that says when afl-fuzz saved the entry."""
        return "time" if self.unit == "s" else "execs"

    @property
    def points(self) -> list[int]:
        """The early points and the end, as such parts count them: in milliseconds or executions."""
        whole = 1000 * self.amount if self.unit == "s" else self.amount
        return [whole // part for part in (*EARLY, 1)]

    @property
    def early(self) -> list[str]:
        """What the early points are called."""
        return [f"{self.amount / part:,.0f} {self.unit}" for part in EARLY]


@dataclass(frozen=True)
class Job:
    """One run."""

    subject: str
    arm: str
    repeat: int

    def __str__(self) -> str:
        return f"{self.subject} {self.arm} {self.repeat}"


def campaign_file(built: Built, job: Job, budget: Budget, folder: Path) -> Path:
    compiler = built.compiler
    keys: dict[str, Any] = {
        "campaign": {
            "name": str(job),
            "output": str(folder / "run"),
            "budget": f"{budget.amount}s" if budget.unit == "s" else budget.amount,
            "seed": job.repeat,
        },
        "target": {
            "command": [str(built.program)],
            "env": {"FUZZTUI_PARSED": str(folder / "parsed")},
            "timeout": f"{compiler.timeout_ms}ms",
        },
        "engine": {"kind": "afl", "instances": 1, "seeds": [str(built.seeds)]},
    }
    if compiler.memory != "none":
        keys["target"]["memory"] = f"{compiler.memory}MiB"
    text = ARMS[job.arm]
    if text is not None:
        known = "text" in text and compiler.language
        keys["text"] = text | ({"language": compiler.language} if known else {})
    file = folder / "campaign.toml"
    file.write_text(tomli_w.dumps(keys))
    return file


def command(built: Built, job: Job, budget: Budget, folder: Path) -> tuple[list[str], Path]:
    """What is started, and the directory of its afl-fuzz."""
    if job.arm != "plain":
        file = campaign_file(built, job, budget, folder)
        words = [sys.executable, "-m", "fuzztui", str(file), "--headless"]
        return words, folder / "run" / "out" / "main"
    limit = "-V" if budget.unit == "s" else "-E"
    words = ["afl-fuzz", limit, str(budget.amount), "-s", str(job.repeat), "-i", str(built.seeds),
             "-o", str(folder / "run"), "-t", f"{built.compiler.timeout_ms}+",
             "-m", built.compiler.memory, "--", str(built.program)]  # fmt: skip
    return words, folder / "run" / "default"


def measure(built: Built, job: Job, budget: Budget, folder: Path, core: int) -> dict[str, Any]:
    """Run it and count. Raises :class:`Failed`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words, out = command(built, job, budget, folder)
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
    stats = figures(out / "fuzzer_stats")
    execs = int(stats.get("execs_done", 0))
    if stopping.is_set() or (spent if budget.unit == "s" else execs) < budget.amount:
        raise Failed(f"ended after {spent:.0f} s and {execs:,} executions (see {folder})")
    if status not in (0, 10) or not stats:  # 10: fuzztui has findings
        last = log.read_text(errors="replace").strip().splitlines()[-3:]
        raise Failed(f"exit status {status}: {' / '.join(last)} (see {folder})")
    try:
        edges = edges_after(built, out / "queue", budget.key, budget.points, folder)
    except RuntimeError as e:
        raise Failed(str(e)) from e
    inputs, valid = struct.unpack("<QQ", (folder / "parsed").read_bytes())
    return {
        "subject": job.subject,
        "arm": job.arm,
        "budget": budget.amount,
        "unit": budget.unit,
        "repeat": job.repeat,
        "program": built.digest,
        "text": ARMS[job.arm],
        "edges": edges,
        "execs": execs,
        "inputs": inputs,
        "valid": valid,
        "entries": int(stats["corpus_count"]),
        "crashes": int(stats["saved_crashes"]),
        "stability": stats["stability"],
        "mutators": mutators(folder / "run") if ARMS[job.arm] is not None else {},
        "core": core,
        "took_s": round(spent, 1),
    }


def figures(file: Path) -> dict[str, str]:
    """The values of ``fuzzer_stats`` by key; empty if there is no such file."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}


def mutators(run: Path) -> dict[str, tuple[int, int]]:
    """How many inputs each text mutator changed, and in how many queue entries it had a part."""
    done = subprocess.run([sys.executable, "-m", "fuzztui", "mutators", str(run), "--json"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode:
        raise Failed(f"fuzztui mutators {run}: {done.stderr.strip()}")
    rows = json.loads(done.stdout)["mutators"]
    return {row["name"]: (row["applied"], row["found"]) for row in rows}


def plan(subjects: Sequence[str], arms: Sequence[str], repeat: int) -> list[Job]:
    """All runs, so that each pair of neighbours is another pair each time."""
    jobs = []
    for seed in range(1, repeat + 1):
        turn = (seed - 1) % len(arms)
        for subject in subjects:
            jobs += [Job(subject, arm, seed) for arm in (*arms[turn:], *arms[:turn])]
    return jobs


running: set[subprocess.Popen[bytes]] = set()
stopping = threading.Event()


def work_through(jobs: Sequence[Job], cores: list[int], run: Callable[[Job, int], None]) -> None:
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


def kept(rows: Rows, jobs: Sequence[Job], budget: Budget, built: dict[str, Built]) -> list[Any]:
    """The rows of these jobs with this budget: of the programs that are built, else the last ones.

    Of another program the edges are others, and of another table ``[text]`` everything.
    """
    wanted = set(jobs)
    found = [
        row
        for row in rows.read()
        if Job(row["subject"], row["arm"], row["repeat"]) in wanted
        and (row["budget"], row["unit"]) == (budget.amount, budget.unit)
        and row["text"] == ARMS[row["arm"]]
    ]
    digests = {row["subject"]: row["program"] for row in found}
    digests |= {name: target.digest for name, target in built.items()}
    found = [row for row in found if row["program"] == digests[row["subject"]]]
    # Two processes may have made the same run.
    return list({(row["subject"], row["arm"], row["repeat"]): row for row in found}.values())


def report(results: Sequence[dict[str, Any]], budget: Budget, arms: Sequence[str]) -> str:
    new = {compiler.name for compiler in COMPILERS.values() if compiler.new}
    order = [*COMPILERS]
    rows = sorted(results, key=lambda row: order.index(row["subject"]))
    text = [arm for arm in arms if ARMS[arm] is not None]
    parts = [
        f"\n{budget} a run, one afl-fuzz on one core; median (least-most)",
        tables.subjects(rows, arms, new, budget.early),
        f"\nto stock: geometric means over subjects; more and fewer edges: p < {tables.CHANCE}",
        tables.means(rows, arms, new, budget.early),
        *(tables.goal(rows, arm) for arm in arms if arm != tables.STOCK),
    ]
    if text and (made := [row for row in rows if row["arm"] == text[0]]):
        parts += [f"\nwhich text mutators pay: {text[0]}", tables.mutators(made)]
    stable = [float(row["stability"].removesuffix("%")) for row in rows]
    parts.append(f"stability of the programs: {min(stable, default=0):.1f}% or more")
    return "\n".join(parts)


def words(allowed: Sequence[str]) -> Callable[[str], list[str]]:
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
    parser.add_argument("--subjects", type=words([*COMPILERS]), default=[*COMPILERS])
    parser.add_argument("--arms", type=words([*ARMS]), default=DEFAULT_ARMS)
    parser.add_argument("--seconds", type=int, default=300, help="of each run")
    parser.add_argument("--execs", type=int, help="executions of each run, in place of seconds")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="how many runs at a time")
    parser.add_argument("--report", action="store_true", help="only print what is there")
    parser.add_argument("--keep", action="store_true", help="the runs, not only their figures")
    parser.add_argument("--work", type=Path, default=home / "fuzztui" / "text-targets")
    parser.add_argument("--results", type=Path, help="default: runs.jsonl in --work")
    args = parse(parser, "text_targets", subjects=["mujs"], arms=["stock", "empty"], execs=2000,
                 repeat=1)  # fmt: skip
    args.work = args.work.resolve()
    args.results = args.results or args.work / "runs.jsonl"
    return args


def main() -> None:
    args = options()
    budget = Budget(args.execs or args.seconds, "execs" if args.execs else "s")
    built: dict[str, Built] = {}
    if not args.report:
        args.work.mkdir(parents=True, exist_ok=True)
        built = {name: build(COMPILERS[name], args.work) for name in args.subjects}
    rows = Rows("text_targets", args.results)
    jobs = plan(args.subjects, args.arms, args.repeat)
    results = kept(rows, jobs, budget, built)
    done = {Job(row["subject"], row["arm"], row["repeat"]) for row in results}
    missing = [job for job in jobs if job not in done]
    print(f"{len(done)} runs are in {rows.file}, {len(missing)} are missing", flush=True)
    lock = threading.Lock()
    failed: list[Job] = []

    def run(job: Job, core: int) -> None:
        folder = args.work / "runs" / f"{job.subject}-{job.arm}-{job.repeat}"
        try:
            result = measure(built[job.subject], job, budget, folder, core)
        except (Failed, OSError) as e:
            print(f"{job}: FAILED: {e}", flush=True)
            failed.append(job)
            return
        with lock:
            rows.add(**result)
            results.append(result)
            share = 100 * result["valid"] / max(1, result["inputs"])
            hours = median(row["took_s"] for row in results) / 3600 * (len(jobs) - len(results))
            print(f"{job}: {result['edges'][-1]:,} edges, {share:.1f}% valid, "
                  f"{result['execs']:,} executions in {result['took_s']:.0f} s; "
                  f"about {hours / args.jobs:.1f} h are left", flush=True)  # fmt: skip
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)

    if not args.report:
        work_through(missing, sorted(os.sched_getaffinity(0))[: args.jobs], run)
    print(report(results, budget, args.arms))
    if failed:
        sys.exit(f"{len(failed)} runs failed: start it again to have them made")


if __name__ == "__main__":
    main()
