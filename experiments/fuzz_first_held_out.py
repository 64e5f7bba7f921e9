"""Fuzz-first on programs that nobody tuned it for: bugs and edges against the plain campaign.

Ten programs in C against afl-fuzz with CmpLog, as fuzztui runs it; two in Python against zest
(``lab/first_programs.py`` says what they are, and that they were fixed before any run). Each arm
has the same number of executions, those of mutants included: half of them for ``--turns`` mutants,
one after the other. Findings do not end a campaign.

    python experiments/fuzz_first_held_out.py --repeat 10 --jobs 2

A run takes about a minute of a core, all of them some ten hours. Rows go to ``--results`` as they
come; the same command continues where it was stopped, ``--subjects`` and ``--arms`` pick some,
``--report`` shows what is there. After a change of fuzz-first its arms need another ``--results``.

Counted after 25%, 50% and 100% of the executions, at what the campaign's log had by then:

- bugs: the numbers of planted bugs that crashes of the target reach, run again one by one;
- edges: what all entries of the target cover together, those included that mutants handed over, by
  afl-showmap, or by zest's probes.

Better, and worse, is a difference at the end with p < 0.05 (Mann-Whitney). Goal, for bugs and for
edges: better than the plain campaign on at least half of the programs in C, worse on none.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w
from lab.cells import Key, Row, add_cell_options, answer_cell, run_cells
from lab.figures import table
from lab.first_programs import (
    C_PROGRAMS,
    FIRST_PROGRAMS,
    PYTHON,
    Entries,
    FirstProgram,
    place_of,
    prepared,
)
from lab.headless import fuzztui
from lab.options import parse
from lab.rows import Rows
from lab.runs import RunFailed

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.selectors import totals
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import EntrySaved, FindingSaved
from fuzztui.tools.report.two_samples import rank_p

ARMS: dict[str, dict[str, Any] | None] = {
    "alone": None,
    "fpf": {"order": "fpf"},
    "random": {"order": "random"},
    "roadblocks": {"order": "roadblocks"},
    "stuck": {"order": "roadblocks", "when": "stuck"},
}
"""The keys of ``[mutants]`` by which arms differ; None: there is no such table."""

MARKS = {"25": 0.25, "50": 0.5, "100": math.inf}
"""Shares of the executions; at the end a campaign may have made a few more than its budget."""

FIGURES = ("bugs", "edges")
GROUPS: dict[str, Sequence[FirstProgram]] = {"C": C_PROGRAMS, "Python": PYTHON}
_BY_NAME = {program.name: program for program in FIRST_PROGRAMS}
_FIRST_SEED = 301
_P = 0.05


def campaign(program: FirstProgram, place: Path, key: Key, args: argparse.Namespace) -> Row:
    """The campaign file of one run, without ``campaign.output``."""
    _, arm, seed = key
    execs = args.execs or program.execs
    keys: Row = {"campaign": {"budget": execs, "seed": seed}, **program.tables(place)}
    own = ARMS[arm]
    if own is not None:
        per_mutant = execs // 2 // args.turns
        shared = {"sources": list(program.mutated), "share": 0.5, "per_mutant": per_mutant}
        keys["mutants"] = shared | own
    return keys


def measure(args: argparse.Namespace, key: Key) -> Row:
    """Run one campaign and count. Raises :class:`RunFailed`."""
    subject, arm, seed = key
    program = _BY_NAME[subject]
    place = prepared(program, args.work)
    keys = campaign(program, place, key, args)
    with tempfile.TemporaryDirectory(prefix="held-out-", dir=args.scratch) as name:
        folder = Path(name).resolve()
        run, file = folder / "run", folder / "campaign.toml"
        keys["campaign"]["output"] = str(run)
        file.write_text(tomli_w.dumps(keys))
        began = time.monotonic()
        fuzztui(file, "--headless")
        seconds = time.monotonic() - began
        status: Row = json.loads(fuzztui("status", run, "--json"))
        if status["state"] != "finished":
            raise RunFailed(f"{subject}, {arm}, seed {seed}: {status['reason']}")
        entries, crashes = saved(run)
        # Mutants start from the seeds, too: they are there before the target's instance is.
        entries = [*((0, seed) for seed in sorted(program.seeds.iterdir())), *entries]
        marks = [share * keys["campaign"]["budget"] for share in MARKS.values()]
        numbers = [(at, program.bug(place, crash)) for at, crash in crashes]
        edges = program.edges(place, entries, marks, folder)
    return {
        **identity(program, key, args),
        "seed": seed,
        "bugs": {
            mark: sorted({n for at, n in numbers if n and at <= upto})
            for mark, upto in zip(MARKS, marks, strict=True)
        },
        "edges": dict(zip(MARKS, edges, strict=True)),
        "crashes": len(numbers),
        "other_crashes": sum(not n for _, n in numbers),
        "turns_done": status["first"]["phases"]["done"] if ARMS[arm] else 0,
        "spent": status["execs"],
        "seconds": round(seconds, 1),
    }


def identity(program: FirstProgram, key: Key, args: argparse.Namespace) -> Row:
    """What rows must have in common to be compared with others of the subject and arm."""
    subject, arm, _ = key
    return {
        "subject": subject,
        "arm": arm,
        "program": place_of(program, args.work).name,
        "mutants": ARMS[arm],
        "execs": args.execs or program.execs,
        "turns": args.turns,
    }


def saved(run: Path) -> tuple[Entries, Entries]:
    """The entries and the crashes of the target in the log, with the executions until then.

    A resumed afl-fuzz renames entries: their last name exists, their first one has the time.
    """
    state, crashes = State(), []
    entries = dict[str, tuple[int, Path]]()
    for record in LogReader(run / "log").records():
        apply(state, [record])
        event = record.event
        if not isinstance(event, EntrySaved | FindingSaved):
            continue
        if state.instances[event.instance].mutant:
            continue
        file = run / "out" / event.instance / event.file
        found = (max(0, totals(state).stats.execs), file)
        if isinstance(event, EntrySaved):
            first = f"{event.instance}/{event.file.removeprefix('queue/').rpartition(',orig:')[2]}"
            entries[first] = entries.get(first, found)[0], file
        elif event.file.startswith("crashes/"):
            crashes.append(found)
    return [*entries.values()], crashes


def kept(args: argparse.Namespace) -> list[Row]:
    """The rows of ``--results`` that these options would make again."""
    found = []
    for row in args.rows.read():
        if row["subject"] in args.subjects and row["arm"] in args.arms:
            key = row["subject"], row["arm"], row["seed"]
            if identity(_BY_NAME[row["subject"]], key, args).items() <= row.items():
                found.append(row)
    return found


def spread(values: Sequence[float]) -> str:
    return f"{median(values):g} ({min(values):g}-{max(values):g})"


def figure(row: Row, name: str, mark: str) -> int:
    value = row[name][mark]
    return len(value) if name == "bugs" else value


def compared(
    subjects: Sequence[str], results: Sequence[Row], arm: str, base: str, name: str
) -> Iterator[tuple[str, float, float]]:
    """Of each subject that has both: the difference of the medians at the end, and p."""
    for subject in subjects:
        ours, theirs = (
            [figure(r, name, "100") for r in results if (r["subject"], r["arm"]) == (subject, of)]
            for of in (arm, base)
        )
        if ours and theirs:
            yield subject, median(ours) - median(theirs), rank_p(ours, theirs)


def report(args: argparse.Namespace, results: Sequence[Row]) -> None:
    """Print the figures of each subject, and how many subjects are better or worse."""
    for name in FIGURES:
        rows = []
        for subject in args.subjects:
            for arm in args.arms:
                runs = [r for r in results if (r["subject"], r["arm"]) == (subject, arm)]
                if not runs:
                    continue
                against = compared([subject], results, arm, "alone", name)
                (p,) = [f"{p:.3f}" for _, _, p in against] or [""]
                rows.append([
                    subject, arm, len(runs),
                    *(spread([figure(r, name, mark) for r in runs]) for mark in MARKS),
                    p if arm != "alone" else "",
                    f"{median(r['turns_done'] for r in runs):g}",
                    f"{median(r['seconds'] for r in runs):.0f}",
                ])  # fmt: skip
        marks = [f"{mark}%" for mark in MARKS]
        print(f"\n{name} of the target: medians (least-most) after shares of the executions")
        print(table(["subject", "arm", "n", *marks, "p, to alone", "turns", "seconds"], rows))
    print()
    for kind in GROUPS:
        for arm, base in [*((a, "alone") for a in args.arms if a != "alone"), ("fpf", "random")]:
            for name in FIGURES:
                print(verdict(kind, results, arm, base, name), end="")


def verdict(kind: str, results: Sequence[Row], arm: str, base: str, name: str) -> str:
    """One line about an arm on a group of programs; empty if nothing can be compared."""
    names = [program.name for program in GROUPS[kind]]
    found = list(compared(names, results, arm, base, name))
    if not found:
        return ""
    better = [subject for subject, more, p in found if more > 0 and p < _P]
    worse = [subject for subject, more, p in found if more < 0 and p < _P]
    text = f"{kind}, {name}: {arm} to {base}: better on {len(better)} of {len(found)}"
    text += f" ({', '.join(better) or '-'}), worse on {len(worse)} ({', '.join(worse) or '-'})"
    if base == "alone" and len(found) == len(names):
        met = 2 * len(better) >= len(names) and not worse
        text += f"; goal (better on at least half, worse on none): {'met' if met else 'missed'}"
    return f"{text}\n"


def words(allowed: Sequence[str], text: str) -> list[str]:
    """An argparse type: some of these, by commas."""
    names = text.split(",")
    if unknown := [name for name in names if name not in allowed]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r}: there are {', '.join(allowed)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--subjects", type=partial(words, tuple(_BY_NAME)), default=list(_BY_NAME))
    parser.add_argument("--arms", type=partial(words, tuple(ARMS)), default=list(ARMS))
    parser.add_argument("--repeat", type=int, default=10, help="runs of each arm (default: 10)")
    parser.add_argument("--execs", type=int, default=0, help="of a run (default: the subject's)")
    parser.add_argument("--turns", type=int, default=10, help="mutants that half of them are for")
    add_cell_options(parser)
    parser.add_argument("--scratch", type=Path, help="where campaigns run (default: TMPDIR)")
    parser.add_argument("--work", type=Path, default=cache / "fuzztui" / "first-held-out")
    parser.add_argument("--report", action="store_true", help="only show what is there")
    args = parse(parser, "fuzz_first_held_out", subjects=["parcel", "mido"],
                 arms=["alone", "roadblocks"], repeat=1, execs=1000, turns=1)  # fmt: skip
    args.work = args.work.absolute()
    if answer_cell(args, partial(measure, args)):
        return
    args.rows = Rows("fuzz_first_held_out", args.results)
    results = kept(args)
    well = True
    if not args.report:
        done = {(r["subject"], r["arm"], r["seed"]) for r in results}
        # Seed by seed, so that what is there of an interrupted run is a fair comparison.
        cells = [(s, a, _FIRST_SEED + n) for n in range(args.repeat)
                 for s in args.subjects for a in args.arms]  # fmt: skip
        missing = [cell for cell in cells if cell not in done]
        for name in sorted({subject for subject, _, _ in missing}):
            print(prepared(_BY_NAME[name], args.work), flush=True)
        well = run_cells(missing, partial(measure, args), args, lambda row: (
            f"bugs {row['bugs']['100']}, {row['edges']['100']} edges, {row['spent']:,} executions,"
            f" {row['turns_done']} turns, {row['seconds']:.0f} s"))  # fmt: skip
        results = kept(args)
    report(args, results)
    if not well:
        sys.exit("some runs failed: start it again to have them made")


if __name__ == "__main__":
    main()
