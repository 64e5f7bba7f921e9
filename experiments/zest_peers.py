"""Code that zest covers, against zest of an earlier revision and atheris, at equal CPU time.

Each engine runs alone in one process, until that process has used ``--seconds`` of CPU time,
loading included; from the same seeds. Then every corpus is run again, twice: under the probes of
*this* checkout, which count the cells that all inputs and the valid inputs cover, and without any
probe of ours under coverage.py, which counts branches.

    python -m pip install -e '.[bench]'
    python experiments/zest_peers.py --subjects tuning --repeat 10 --seconds 60 --jobs 2

Results go to ``--results`` as they come; the same command continues where it was stopped,
and ``--report`` shows what is there. A new commit that changes the engines runs zest again and
nothing else. Sets that take longer than a day have their rows in ``experiments/rows``, so that
somebody else can go on: add what you have measured.

Goals on the held-out set: at 60 s the geometric mean of the cells is at least 10% above the base
revision, no subject is significantly below it (p < 0.05), and every subject is ahead of atheris.
Goals on the third set, in branches: at 10 s and at the end (60 s) the geometric mean is at least
10% above the base revision, and no subject is significantly below it; at the end it is at least
15% above atheris, and no subject is below.

A subject with a generator starts from nothing under zest. atheris gets ten random inputs, and no
control of their length, because it would begin with inputs of a few bytes. Cells and branches over
time are of zest only, because libFuzzer replaces inputs by smaller ones. The CPU time of an entry
is that of the worker when the entry's file was written (``lab/cpu_clock.py``).

Rows that were measured without coverage.py, before November 2026, have no branches; their cells
over time were estimated in another way. ``--report`` treats both as missing.

HypoFuzz is not compared any more: it takes no seeds, keeps no corpus and has no limit of CPU time.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from lab.cells import Key, Row, add_cell_options, answer_cell, run_cells
from lab.cpu_clock import CpuClock
from lab.figures import holm, table
from lab.options import parse
from lab.peers import installed
from lab.rows import Rows, version
from lab.runs import Instance, call, check
from lab.subjects import SETS, SUBJECTS_HELP, Subject, choose

from fuzztui.tools.report.two_samples import a12, mann_whitney

REPOSITORY = Path(__file__).resolve().parent.parent
LAB = REPOSITORY / "benchmarks" / "lab"
MARKS = (1, 2, 5, 10, 20, 30, 60)
"""CPU seconds after which the cells and branches of zest's corpora are counted."""
_EARLY = 10
"""The mark at which the third set has a goal, besides the end."""
_FIRST_SEED = 201
_RANDOM_SEEDS, _RANDOM_BYTES = 10, 512
_P = 0.05


@dataclass(frozen=True)
class Engine:
    """``version``: the last commit that changed the package, or atheris' version."""

    name: str
    version: str
    package: Path | None = None
    """The directory with the ``fuzztui`` to run; None: that of this checkout."""


@dataclass(frozen=True)
class Result:
    """One run of one engine, and what its corpus covers."""

    subject: str
    engine: str
    version: str
    seed: int
    seconds: float
    wall_s: float
    trials: int
    inputs: int
    cells: int
    valid: int
    """Cells that valid inputs cover."""
    over: dict[str, int]
    """Cells by CPU second; empty for atheris."""
    of: int
    """All cells of the loaded modules."""
    digest: str
    """Of the cells' names: figures with different digests cannot be compared."""
    branches: int | None = None
    """Branches, by coverage.py; None: an old row."""
    branches_over: dict[str, int] = field(default_factory=dict)
    """Branches by CPU second; empty for atheris."""
    branches_of: int = 0
    """All branches of the subject's modules."""


def measure(subject: Subject, engine: Engine, seed: int, args: argparse.Namespace) -> Result:
    """Fuzz, then run the corpus again. Raises :class:`RunFailed`."""
    root = Path(tempfile.mkdtemp(prefix="zest-peers-", dir=args.scratch))
    try:
        instance = Instance(subject, "zest", root, seed, args.python, engine.package)
        began = time.monotonic()
        fuzz = _atheris if engine.name == "atheris" else _zest
        corpus, trials = fuzz(instance, args.seconds)
        wall_s = time.monotonic() - began
        marks = [s for s in MARKS if s <= args.seconds and engine.name != "atheris"]
        found: Row = {}
        for script in ("replayed.py", "branches.py"):
            found |= _replay(script, instance, corpus, marks)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for key in ("over", "branches_over"):
        found[key] = dict(zip(map(str, marks), found[key], strict=True))
    return Result(subject.name, engine.name, engine.version, seed, args.seconds, wall_s, trials,
                  **found)  # fmt: skip


Corpus = Sequence[tuple[float, str]]
"""CPU seconds at which an entry was saved (0: before all, or unknown), and its file."""


def _replay(script: str, instance: Instance, corpus: Corpus, marks: Sequence[int]) -> Row:
    """The record of a program of the lab that runs the corpus again."""
    judge = Instance(instance.subject, "zest", instance.root / script, 0, instance.python)
    spec, record, entries = judge.spec(), judge.root / "record.json", judge.root / "entries.json"
    entries.write_text(json.dumps(corpus))
    argv = [judge.python, "-P", str(LAB / script), str(spec), str(record), str(entries),
            json.dumps(marks)]  # fmt: skip
    call(argv, judge.root, judge.root / "replay.log", limit_s=1200)
    row: Row = json.loads(record.read_text())
    return row


def _limit_s(seconds: float) -> float:
    """Wall seconds after which a run counts as stuck; the machine may be ten times as busy."""
    return 300 + 10 * seconds


def _zest(instance: Instance, seconds: float) -> tuple[Corpus, int]:
    """The corpus, and the number of trials."""
    clock, spec = CpuClock(), instance.spec(budget_cpu_s=seconds)
    instance.run(spec, limit_s=_limit_s(seconds), clock=clock)
    corpus = [(at, str(instance.queue / name)) for name, at in clock.saved(instance.queue).items()]
    return corpus, int(instance.stats()["execs_done"])


def _atheris(instance: Instance, seconds: float) -> tuple[Corpus, int]:
    root, subject = instance.root, instance.subject
    spec, record = instance.spec(), root / "atheris.json"
    corpus, seeds = root / "corpus", Path(subject.seeds)
    corpus.mkdir()
    options = ["-max_len=10240", f"-seed={instance.seed}", "-timeout=30", "-rss_limit_mb=0"]
    if subject.generator:
        options.append("-len_control=0")
        seeds = root / "seeds"
        seeds.mkdir()
        rng = random.Random(instance.seed)
        for n in range(_RANDOM_SEEDS):
            (seeds / str(n)).write_bytes(rng.randbytes(_RANDOM_BYTES))
    options.append(f"-artifact_prefix={root}/")
    argv = [instance.python, "-P", str(LAB / "atheris_run.py"), str(spec), str(record),
            f"{seconds:g}", *options, str(corpus), str(seeds)]  # fmt: skip
    call(argv, root, root / "atheris.log", limit_s=_limit_s(seconds))
    # libFuzzer copies the seeds that it finds useful; zest keeps all.
    files = sorted((*seeds.iterdir(), *corpus.iterdir()))
    return [(0.0, str(file)) for file in files], int(json.loads(record.read_text())["trials"])


def _git(*args: str) -> bytes:
    try:
        git = ["git", "-C", str(REPOSITORY), *args]
        return subprocess.run(git, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        said = getattr(e, "stderr", b"").decode(errors="replace").strip() or e
        raise SystemExit(f"git {' '.join(args)}: {said}; the base needs a clone with it") from None


def engines(args: argparse.Namespace) -> list[Engine]:
    """The engines that can run here; the base is in a directory that does not exist yet."""
    here = version("engines")  # what runs in the target's process
    base = _git("rev-parse", "--short", f"{args.base}^{{commit}}").decode().strip()
    found = [Engine("zest", here), Engine("base", base, args.scratch / f"base-{base}")]
    if args.report:  # what was measured elsewhere counts; nothing needs to be installed
        of = [row["version"] for row in args.rows.read() if row["engine"] == "atheris"]
        found += [Engine("atheris", version) for version in of[-1:]]
    elif installed(args.python, {"atheris": "atheris"}):
        code = "import importlib.metadata as m; print(m.version('atheris'))"
        said = subprocess.run([args.python, "-c", code], capture_output=True, text=True, check=True)
        found.append(Engine("atheris", said.stdout.strip()))
    return found


def export(engine: Engine) -> None:
    """Write the package of an earlier revision into its directory."""
    if engine.package is not None and not engine.package.exists():
        data = _git("archive", engine.version, "fuzztui", "engines")
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(engine.package, filter="tar")  # there are links in the package


def load(found: Sequence[Engine], args: argparse.Namespace) -> list[Result]:
    """What earlier runs of the same length and versions have left."""
    versions = {(e.name, e.version) for e in found}
    results = []
    for row in args.rows.read():
        if "branches" not in row:
            row["over"] = {}
        results.append(Result(**row))
    return [r for r in results if r.seconds == args.seconds and (r.engine, r.version) in versions]


def run(subjects: Sequence[Subject], found: Sequence[Engine], args: argparse.Namespace) -> bool:
    """Do what is missing; returns whether all went well."""
    done = {(r.subject, r.engine, r.seed) for r in load(found, args)}
    missing = [
        (subject, engine, seed)
        for seed in range(_FIRST_SEED, _FIRST_SEED + args.repeat)
        for subject in subjects
        for engine in found
        if (subject.name, engine.name, seed) not in done
    ]
    for engine in found:
        export(engine)
        if engine.name != "atheris":
            due = [s for s in subjects if any(s is m and engine is e for m, e, _ in missing)]
            check(due, args.python, package=engine.package)
    return run_cells([_key(*each) for each in missing], partial(cell, args), args, _said)


def _key(subject: Subject, engine: Engine, seed: int) -> Key:
    package = "" if engine.package is None else str(engine.package)
    return [subject.name, engine.name, seed, engine.version, package]


def cell(args: argparse.Namespace, key: Key) -> Row:
    """The row of a key."""
    name, engine, seed, version, package = key
    [subject] = choose(name)
    found = Engine(engine, version, Path(package) if package else None)
    return asdict(measure(subject, found, seed, args))


def _said(row: Row) -> str:
    return f"{row['cells']} cells, {row['branches']} branches in {row['trials']} trials"


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):g} ({min(values):g}-{max(values):g})" if values else "-"


class Comparison:
    """zest against one other engine, subject by subject."""

    def __init__(self) -> None:
        self.ratios: list[float] = []
        self._ps: dict[str, float] = {}
        self.below: list[str] = []
        """Subjects on which zest's median is significantly lower."""
        self.behind: list[str] = []
        """Subjects on which zest's median is not higher."""
        self.without: list[str] = []
        """Subjects that are not compared: no runs, or the other covers nothing yet."""

    def add(self, subject: str, zest: Sequence[float], other: Sequence[float]) -> list[str]:
        """Add a subject; returns its cells: the ratio of the medians, A12, and p."""
        if not zest or not other or not statistics.median(other):
            self.without.append(subject)
            return ["-", "-", "-"]
        gain = statistics.median(zest) / statistics.median(other)
        p = mann_whitney(zest, other)
        self.ratios.append(gain)
        self._ps[subject] = p
        if gain <= 1:
            self.behind.append(subject)
        if gain < 1 and p < _P:
            self.below.append(subject)
        return [f"{gain:.3f}", f"{a12(zest, other):.2f}", f"{p:.3f}"]

    @property
    def mean(self) -> float:
        """The geometric mean of the ratios; NaN if there are none, which reaches no goal."""
        if not self.ratios:
            return math.nan
        return statistics.geometric_mean(self.ratios) if all(self.ratios) else 0.0

    def line(self, name: str) -> str:
        """The comparison in a sentence."""
        if not self.ratios:
            return f"zest to {name}: not compared"
        corrected = dict(zip(self._ps, holm([*self._ps.values()]), strict=True))
        below = [subject for subject in self.below if corrected[subject] < _P]
        without = f"; not compared on {', '.join(self.without)}" if self.without else ""
        return (f"zest to {name}: geometric mean {self.mean:.3f} over {len(self.ratios)} subjects;"
                f" significantly below on {', '.join(self.below) or 'none'}"
                f" (after Holm's correction: {', '.join(below) or 'none'});"
                f" not ahead on {', '.join(self.behind) or 'none'}{without}")  # fmt: skip


def _whole(names: Sequence[str], *comparisons: Comparison) -> bool:
    """Whether each of the comparisons has all subjects."""
    return all(len(to.ratios) == len(names) for to in comparisons)


def _ahead(base: Comparison) -> bool:
    """Whether zest is 10% ahead of the base in the mean, and significantly below on no subject."""
    return base.mean >= 1.1 and not base.below


def _by_engine(results: Iterable[Result], subject: str) -> dict[str, list[Result]]:
    by: dict[str, list[Result]] = {"zest": [], "base": [], "atheris": []}
    for r in results:
        if r.subject == subject:
            by[r.engine].append(r)
    return by


def _covered(
    names: Sequence[str],
    results: Sequence[Result],
    title: str,
    covered: Callable[[Result], int | None],
    all_of: Callable[[Result], int],
) -> dict[str, Comparison]:
    """Print a table of what each engine covers. Returns zest's comparisons by engine."""
    against = {"base": Comparison(), "atheris": Comparison()}
    rows = []
    for name in names:
        by = {engine: [value for r in of if (value := covered(r)) is not None]
              for engine, of in _by_engine(results, name).items()}  # fmt: skip
        of = max((all_of(r) for r in results if r.subject == name), default=0)
        n = "/".join(str(len(values)) for values in by.values())
        compared = [c for e, to in against.items() for c in to.add(name, by["zest"], by[e])]
        rows.append([name, of, n, *map(_spread, by.values()), *compared])
    print(f"\n{title}: medians (least-most)")
    print(table(["subject", "of", "n", "zest", "base", "atheris", "to base", "A12", "p",
                 "to atheris", "A12", "p"], rows))  # fmt: skip
    for engine, to in against.items():
        print(to.line(engine))
    return against


def _over_time(
    names: Sequence[str],
    results: Sequence[Result],
    seconds: float,
    title: str,
    over: Callable[[Result], dict[str, int]],
) -> dict[int, Comparison]:
    """Print a table of what zest and base cover at each mark. Returns the comparisons."""
    means = {mark: Comparison() for mark in MARKS if mark <= seconds}
    rows = []
    for name in names:
        by = _by_engine(results, name)
        row = [name]
        for mark, to in means.items():
            zest, base = ([over(r)[str(mark)] for r in by[e] if str(mark) in over(r)]
                          for e in ("zest", "base"))  # fmt: skip
            gain, _, p = to.add(name, zest, base)
            row.append(f"{_median(zest)} {_median(base)} {gain} {p}")
        rows.append(row)
    rows.append(["geometric mean", *(f"{to.mean:.3f}" for to in means.values())])
    print(f"\n{title} over CPU time: medians of zest and of base, their ratio, and p")
    print(table(["subject", *(f"{mark} s" for mark in means)], rows))
    for mark, to in means.items():
        print(f"{mark} s: {to.line('base')}")
    return means


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):g}" if values else "-"


def report(subjects: Sequence[Subject], found: Sequence[Engine], args: argparse.Namespace) -> bool:
    """Print the tables of each set; returns whether the goals are met on all that are shown."""
    results = load(found, args)
    versions = ", ".join(f"{e.name} {e.version}" for e in found)
    print(f"{args.seconds:g} s of CPU each; {versions}\n{' '.join(sys.argv)}")
    all_met = True
    for title in ("tuning", "held-out", "third"):
        names = [s.name for s in subjects if s in SETS[title]]
        if not names:
            continue
        print(f"\n== {title}: {len(names)} of {len(SETS[title])} subjects")
        for name in names:
            if len({r.digest for r in results if r.subject == name}) > 1:
                print(f"{name}: the rows' cells differ, so they cannot be compared; measure it"
                      " again with another --results")  # fmt: skip
                all_met = False
        cells = _covered(names, results, "Cells that all inputs cover",
                         lambda r: r.cells, lambda r: r.of)  # fmt: skip
        _covered(names, results, "Cells that valid inputs cover", lambda r: r.valid, lambda r: r.of)
        branches = _covered(names, results, "Branches that all inputs cover, by coverage.py",
                            lambda r: r.branches, lambda r: r.branches_of)  # fmt: skip
        _over_time(names, results, args.seconds, "Cells", lambda r: r.over)
        marks = _over_time(names, results, args.seconds, "Branches", lambda r: r.branches_over)
        if title == "third":
            early = marks.get(_EARLY, Comparison())
            goals = (f"branches: +10% over base at {_EARLY} s and at the end, none significantly"
                     " below; +15% over atheris, none below")  # fmt: skip
            met = (_whole(names, early, *branches.values())
                   and _ahead(early) and _ahead(branches["base"])
                   and branches["atheris"].mean >= 1.15
                   and min(branches["atheris"].ratios) >= 1)  # fmt: skip
        else:
            goals = "cells: +10% over base, none significantly below, ahead of atheris on all"
            met = (_whole(names, *cells.values())
                   and _ahead(cells["base"]) and not cells["atheris"].behind)  # fmt: skip
        all_met = all_met and met
        print(f"\nthe goals ({goals}) are {'met' if met else 'not met'}")
    return all_met


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", default="tuning", help=SUBJECTS_HELP)
    parser.add_argument("--base", default="f7cdc69", metavar="REV", help="the earlier zest")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60, help="CPU seconds of each run")
    add_cell_options(parser)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--scratch", type=Path, help="where engines run (default: TMPDIR)")
    parser.add_argument("--report", action="store_true", help="run nothing")
    args = parse(parser, "zest_peers", subjects="tomllib,jmespath", base="HEAD", repeat=1,
                 seconds=1.0)  # fmt: skip
    if answer_cell(args, partial(cell, args)):
        return
    args.rows = Rows("zest_peers", args.results)
    subjects = choose(args.subjects)
    with tempfile.TemporaryDirectory(prefix="zest-peers-", dir=args.scratch) as scratch:
        args.scratch = Path(scratch).resolve()
        found = engines(args)
        well = args.report or run(subjects, found, args)
        met = report(subjects, found, args)
    sys.exit(0 if well and (met or args.smoke) else 1)


if __name__ == "__main__":
    main()
