"""An experiment as campaigns of fuzztui: subjects x arms x repetitions, each with a run of its own.

    python experiments/campaigns.py spoton --repeat 3 --budget 60s --jobs 2
    cd runs/experiments/spoton-60s-VERSION; fuzztui runs     # meanwhile: all campaigns
    fuzztui attach grades/spoton-1                           # look at one, and steer it
    fuzztui replay grades/zest-1                             # afterwards

A plan is ``experiments/plans/NAME.toml``, or the path of any such file. It names a campaign file
for each subject, and how each arm changes these files; the first arm is the baseline:

    marks = [5, 10, 60]                     # seconds of campaign time; optional
    [subjects]
    grades = "../../sample_campaigns/lambda-grades-spoton.toml"    # relative to the plan
    [arms.zest]
    without = ["engine.aliases"]            # tables and keys that are removed
    set = { "engine.kind" = "zest" }
    [arms.spoton]

The same command continues: campaigns that are finished are not run again, all others are resumed,
also those that were stopped by hand. A row says how many commands have steered its campaign.
Another version of fuzztui has another directory, and starts from nothing; a changed plan needs
other ``--runs``.
Figures are read from the logs, by ``fuzztui.open_run``; ``paper.py --archive`` packs the logs of
its tables.
With ``--cluster``, ``--runs`` must be a directory that all machines share.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import math
import re
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w
from lab.cells import Key, Row, add_cell_options, answer_cell, run_cells
from lab.figures import holm, table
from lab.headless import fuzztui
from lab.options import parse
from lab.rows import Rows, version
from lab.runs import RunFailed

import fuzztui as api
from fuzztui.tools.report.two_samples import a12, rank_p

PLANS = Path(__file__).resolve().parent / "plans"
FIGURES = ("edges", "kills", "groups")
"""What is compared: edges, mutants killed, groups of findings that were examined by then."""


@dataclass(frozen=True)
class Arm:
    """How an arm changes a campaign file: keys with dots, as for ``--set``."""

    set: dict[str, Any] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """The content of a plan; ``subjects``: campaign files by name."""

    file: Path
    subjects: dict[str, Path]
    arms: dict[str, Arm]
    marks: tuple[float, ...]

    @property
    def name(self) -> str:
        return self.file.stem

    def only(self, names: str) -> Plan:
        """With these subjects, by comma; "": all. Raises ValueError if the plan has no such one."""
        chosen = [name.strip() for name in names.split(",")] if names else [*self.subjects]
        for name in chosen:
            if name not in self.subjects:
                known = ", ".join(self.subjects)
                raise ValueError(f"--subjects: {name}: {self.file} has {known}")
        return replace(self, subjects={name: self.subjects[name] for name in chosen})


def read(name: str) -> Plan:
    """The plan of that name, or of that file. Raises ValueError with what is wrong in which key."""
    file = Path(name) if name.endswith(".toml") else PLANS / f"{name}.toml"
    try:
        data = tomllib.loads(file.read_text())
    except (OSError, ValueError) as e:
        known = ", ".join(sorted(plan.stem for plan in PLANS.glob("*.toml")))
        raise ValueError(f"{file}: {e}; plans here: {known}") from None
    for key in data.keys() - {"subjects", "arms", "marks"}:
        raise ValueError(f"{file}: {key}: there is no such key; known: subjects, arms, marks")
    subjects, arms = data.get("subjects", {}), data.get("arms", {})
    if not isinstance(subjects, dict) or not isinstance(arms, dict):
        raise ValueError(f"{file}: subjects and arms: must be tables")
    if len(arms) < 2 or not subjects:
        raise ValueError(f"{file}: needs [subjects], and at least two [arms.NAME]")
    for key in (*subjects, *arms):
        if not re.fullmatch(r"\w[\w.+-]*", key):
            raise ValueError(f"{file}: {key!r}: a name has letters, digits, and . _ + - inside")
    subjects = {key: file.resolve().parent / str(each) for key, each in subjects.items()}
    for key, each in subjects.items():
        if not each.is_file():
            raise ValueError(f"{file}: subjects.{key}: {each}: there is no such file")
    marks = data.get("marks", [])
    numbers = isinstance(marks, list) and all(isinstance(mark, int | float) for mark in marks)
    if not numbers or not all(0 < mark < math.inf for mark in marks):
        raise ValueError(f"{file}: marks: must be a list of seconds above 0")
    tables = [_toml(each) for each in subjects.values()]
    found = {arm: _arm(f"{file}: arms.{arm}", keys, tables) for arm, keys in arms.items()}
    return Plan(file, subjects, found, tuple(sorted(map(float, marks))))


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except (OSError, ValueError) as e:
        raise ValueError(f"{file}: {e}") from None


def _arm(place: str, keys: object, tables: Sequence[dict[str, Any]]) -> Arm:
    """An arm that is right for at least one of the campaign files. Raises ValueError."""
    if not isinstance(keys, dict) or not keys.keys() <= {"set", "without"}:
        raise ValueError(f"{place}: must be a table with the keys set and without")
    given, without = keys.get("set", {}), keys.get("without", [])
    if not isinstance(given, dict) or not isinstance(without, list):
        raise ValueError(f"{place}: set must be a table, without a list of keys")
    if fixed := given.keys() & {f"campaign.{key}" for key in ("name", "output", "seed", "budget")}:
        raise ValueError(f"{place}: set: {min(fixed)}: is chosen by this program")
    for name in map(str, without):
        *parents, last = name.split(".")
        if not any(last in _below(table, parents) for table in tables):
            raise ValueError(f"{place}: without: {name}: no campaign file of the plan has the key")
    return Arm(given, [*map(str, without)])


def _below(table: Any, parents: Sequence[str]) -> Any:
    for key in parents:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


def measure(plan: Plan, args: argparse.Namespace, key: Key) -> Row:
    """Run a campaign to its end, or resume it; then its figures. Raises :class:`RunFailed`."""
    subject, arm, seed = key
    run, text = run_of(args, key), campaign(plan, args, key)
    file = write(plan, args, key, text)
    if not _is_finished(run):
        frozen = run / "campaign.toml"
        fuzztui(frozen if frozen.exists() else file, "--headless")
    try:
        return {
            "subject": subject, "arm": arm, "seed": seed, "budget": args.budget,
            "file": _digest(text), "keys": asdict(plan.arms[arm]),
            "campaign": str(run.relative_to(args.runs)), **figures(run, plan.marks),
        }  # fmt: skip
    except api.RunError as e:
        raise RunFailed(str(e)) from None


def _is_finished(run: Path) -> bool:
    try:
        return run.is_dir() and api.open_run(run).now().state == "finished"
    except api.RunError:
        return False  # it ended before the first record: resumed, with the reason if it cannot be


def run_of(args: argparse.Namespace, key: Key) -> Path:
    """The directory of a run."""
    subject, arm, seed = key
    return Path(args.runs, subject, f"{arm}-{seed}")


def campaign(plan: Plan, args: argparse.Namespace, key: Key) -> str:
    """The campaign file of a run. Raises :class:`RunFailed` if there can be none."""
    subject, arm, seed = key
    original = plan.subjects[subject]
    try:
        data = _toml(original)
        for name in plan.arms[arm].without:
            *parents, last = name.split(".")
            _below(data, parents).pop(last, None)
        data.setdefault("campaign", {}).update(
            name=f"{subject}-{arm}-{seed}", output=str(run_of(args, key)), seed=seed,
            budget=args.budget,
        )  # fmt: skip
        for name, value in plan.arms[arm].set.items():
            *parents, last = name.split(".")
            table = data
            for parent in parents:
                table = table.setdefault(parent, {})
            table[last] = value
    except (OSError, ValueError, AttributeError, TypeError) as e:
        raise RunFailed(f"{original}: cannot be changed as [arms.{arm}] says: {e}") from None
    return f"# fuzztui {version('fuzztui', 'engines')}\n{tomli_w.dumps(data)}"


def write(plan: Plan, args: argparse.Namespace, key: Key, text: str) -> Path:
    """Write the campaign file of a run, among links to what the subject's file has beside it.

    Raises :class:`RunFailed` if the run there began with another one.
    """
    subject, arm, seed = key
    run, original, folder = run_of(args, key), plan.subjects[subject], args.runs / subject / "files"
    folder.mkdir(parents=True, exist_ok=True)
    for each in original.parent.iterdir():
        with contextlib.suppress(FileExistsError):
            (folder / each.name).symlink_to(each)
    file = Path(folder, f"{arm}-{seed}.toml")
    if file.is_symlink():  # of a file beside the subject's
        file.unlink()
    if run.exists() and file.exists() and file.read_text() != text:
        raise RunFailed(
            f"{run}: began with another campaign file, plan or fuzztui; give another --runs"
        )
    file.write_text(text)
    return file


def figures(run: Path, marks: Sequence[float]) -> Row:
    """What the log of an ended run says. Raises :class:`RunError` and :class:`RunFailed`."""
    opened = api.open_run(run)
    end = opened.now()
    if end.state != "finished":
        why = f": {end.reason}" if end.reason else ""
        raise RunFailed(f"{run}: {end.state}{why}; the same command continues the campaign")
    times = [mark for mark in marks if mark < end.elapsed_s]
    states = {**{f"{mark:g}": opened.at(mark) for mark in times}, "end": end}
    return {
        "execs": end.execs,
        "elapsed_s": round(end.elapsed_s, 1),
        "at_least": end.at_least,
        "steered": len(fuzztui("events", run, "--json", "--kind", "command_issued").splitlines()),
        "marks": {mark: _at(state) for mark, state in states.items()},
    }


def _at(state: api.RunState) -> dict[str, int]:
    """-1: unknown, or there are no mutants."""
    kills = sum(mutant.state == "killed" for mutant in state.mutants) if state.mutants else -1
    return {"execs": state.execs, "edges": state.edges, "kills": kills,
            "groups": sum(bool(group.signature) for group in state.findings)}  # fmt: skip


def tables(plan: Plan, rows: Sequence[Row]) -> str:
    """Each figure at each mark: medians, and for each arm the ratio to the first one."""
    parts = []
    known = {mark for row in rows for mark in row["marks"]}
    marks = [mark for mark in (*(f"{mark:g}" for mark in plan.marks), "end") if mark in known]
    for figure in FIGURES:
        for mark in marks:
            found = {
                (subject, arm): [value for row in rows
                                 if (row["subject"], row["arm"]) == (subject, arm)
                                 if (value := _value(row, figure, mark)) >= 0]
                for subject in plan.subjects for arm in plan.arms
            }  # fmt: skip
            if any(map(any, found.values())):  # else a campaign without mutants, for example
                when = mark if mark == "end" else f"{mark} s"
                parts += [f"\n{figure}, {when}: medians (least-most)", _compared(plan, found)]
    steered = [f"{row['campaign']} ({row['steered']})" for row in rows if row["steered"]]
    if steered:
        parts.append(f"\nsteered by hand (commands): {', '.join(steered)}")
    return "\n".join(parts)


def _value(row: Row, figure: str, mark: str) -> int:
    """-1: unknown. At a mark after its end, a campaign has what it had at the end."""
    marks = row["marks"]
    if mark not in marks and row["elapsed_s"] > float(mark):
        return -1  # of an earlier plan, without this mark
    return int(marks.get(mark, marks["end"])[figure])


def _compared(plan: Plan, found: dict[tuple[str, str], list[int]]) -> str:
    base, *others = plan.arms
    pairs = {(subject, arm): (found[subject, arm], found[subject, base])
             for arm in others for subject in plan.subjects
             if found[subject, arm] and found[subject, base]}  # fmt: skip
    ps = dict(zip(pairs, holm([rank_p(*each) for each in pairs.values()]), strict=True))
    gains = {
        pair: statistics.median(ours) / middle
        for pair, (ours, theirs) in pairs.items()
        if (middle := statistics.median(theirs))
    }
    rows, means = [], ["geometric mean", "", ""]
    for subject in plan.subjects:
        row = [subject, len(found[subject, base]), _spread(found[subject, base])]
        for arm in others:
            pair = (subject, arm)
            row += [len(found[pair]), _spread(found[pair]),
                    f"{gains[pair]:.3f}" if pair in gains else "-",
                    *((f"{a12(*pairs[pair]):.2f}", f"{ps[pair]:.3f}") if pair in pairs
                      else ("-", "-"))]  # fmt: skip
        rows.append(row)
    for arm in others:
        of = [gain for (_, name), gain in gains.items() if name == arm]
        means += ["", "", f"{statistics.geometric_mean(of):.3f}" if of and all(of) else "-", "", ""]
    heads = [head for arm in others for head in ("n", arm, f"to {base}", "A12", "p (Holm)")]
    return table(["subject", "n", base, *heads], [*rows, means])


def _spread(values: Sequence[int]) -> str:
    return f"{statistics.median(values):g} ({min(values)}-{max(values)})" if values else "-"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("plan", nargs="?", help="the name of a plan, or its file")
    parser.add_argument("--subjects", default="", help="names by comma (default: all of the plan)")
    parser.add_argument("--repeat", type=int, choices=range(1, 1000), metavar="N", default=5)
    parser.add_argument("--budget", default="60s", help="campaign.budget of each (default: 60s)")
    parser.add_argument("--runs", type=Path, help="default: runs/experiments/PLAN-BUDGET-VERSION")
    add_cell_options(parser)
    parser.add_argument("--report", action="store_true", help="run nothing")
    args = parse(parser, "campaigns", plan="mu2", subjects="tomllib", repeat=1, budget="2s")
    try:
        if not args.plan:
            raise ValueError("name a plan, or the file of one")
        plan = read(args.plan).only(args.subjects)
        if args.jobs < 1:
            raise ValueError("--jobs: must be at least 1")
    except ValueError as e:
        parser.error(str(e))
    with tempfile.TemporaryDirectory(prefix="campaigns-") as scratch:
        name = f"{plan.name}-{args.budget.replace(' ', '-')}-{version('fuzztui', 'engines')}"
        default = Path(scratch) if args.smoke else Path("runs/experiments", name)
        args.runs = (args.runs or default).absolute()
        if answer_cell(args, partial(measure, plan, args)):
            return
        try:
            well = make(plan, args)
        except KeyboardInterrupt:
            sys.exit("stopped; the same command continues")
    sys.exit(0 if well else 2)


def make(plan: Plan, args: argparse.Namespace) -> bool:
    """Run what is missing, and print the tables. Returns whether no campaign has failed."""
    args.rows = Rows("campaigns", args.results)
    keys = [[subject, arm, seed] for seed in range(1, args.repeat + 1)
            for subject in plan.subjects for arm in plan.arms]  # fmt: skip
    rows = [row for row in args.rows.read() if _is_wanted(plan, args, row)]
    done = [[row["subject"], row["arm"], row["seed"]] for row in rows]
    well = True
    if not args.report:
        missing = [key for key in keys if key not in done]
        print(f"campaigns: {len(done)} ended, {len(missing)} missing; to look at them:"
              f" fuzztui runs {args.runs}", file=sys.stderr)  # fmt: skip
        well = run_cells(missing, partial(measure, plan, args), args, _said)
        rows = [row for row in args.rows.read() if _is_wanted(plan, args, row)]
    print(f"{plan.name}: {args.budget} each, seeds 1 to {args.repeat}; {' '.join(sys.argv)}")
    print(tables(plan, rows))
    return well


def _is_wanted(plan: Plan, args: argparse.Namespace, row: Row) -> bool:
    """Whether it is a row of these campaign files, in these runs, of this version of fuzztui."""
    if row.get("subject") not in plan.subjects or row.get("arm") not in plan.arms:
        return False
    if row["seed"] > args.repeat:
        return False
    try:
        text = campaign(plan, args, [row["subject"], row["arm"], row["seed"]])
    except RunFailed:
        return False  # its cell reports why
    return bool(row["file"] == _digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _said(row: Row) -> str:
    end = row["marks"]["end"]
    return ", ".join(f"{end[figure]} {figure}" for figure in FIGURES if end[figure] >= 0)


if __name__ == "__main__":
    main()
