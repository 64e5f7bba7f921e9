"""All tables of the papers and of the peers by one command, in one page.

    python -m pip install -e '.[bench]'
    python experiments/paper.py                  # short budgets: a night on two cores
    python experiments/paper.py --papers         # the budgets of the papers: months of a core
    python experiments/paper.py --only mu2,text  # some of the tables
    python experiments/paper.py --archive tables.tar.gz

Each table is an experiment or a benchmark of its own, and can be run alone by the command that
stands above the table. Its rows go to ``--output`` as they come, and it continues where it was
stopped. A table that was finished by the same command at the same commit is not measured again.
``tables.md`` has them all, tuning and held-out sets apart, with a figure of the medians over time
where the rows hold the times (plots.py); a goal that was missed is named in the text of the table.
``--archive`` packs rows, page, logs of campaigns, sources, versions of packages, checksums.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import plots
from lab.options import parse
from lab.rows import Rows, commit

ROOT = Path(__file__).resolve().parent.parent
TABLES = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Experiment:
    """One command of paper.toml, and the tables and figures of a paper that it makes."""

    name: str
    makes: str
    program: str
    minutes: int
    short: str
    papers: str

    def words(self, args: argparse.Namespace) -> list[str]:
        """The command without the interpreter and without ``--results``."""
        if args.smoke:
            return [self.program, "--smoke"]
        return [self.program, *shlex.split(self.papers if args.papers else self.short)]


def read() -> dict[str, Experiment]:
    """The experiments of paper.toml by name, in its order."""
    rows = tomllib.loads(TABLES.read_text())["table"]
    return {row["name"]: Experiment(**row) for row in rows}


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it printed; kept as ``NAME.json`` in the output directory."""

    command: str
    commit: str
    machine: str
    date: str
    took_s: float
    code: int
    """0: the goal was met, or none was set; 1: it was missed. Others: the command failed."""
    text: str


def _kept(file: Path) -> Outcome | None:
    try:
        return Outcome(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def measure(each: Experiment, args: argparse.Namespace) -> Outcome:
    """Run the command to its end; its progress goes to stderr, as it comes."""
    words = each.words(args)
    rows = args.output / f"{each.name}.jsonl"
    argv = [sys.executable, str(ROOT / words[0]), *words[1:], "--results", str(rows)]
    began = time.monotonic()
    done = subprocess.run(argv, cwd=args.output, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, check=False)  # fmt: skip
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    # A traceback exits with 1, too, but prints no table.
    code = done.returncode if done.returncode != 1 or done.stdout.strip() else 2
    return Outcome(shlex.join(words), commit(), machine, time.strftime("%Y-%m-%d"),
                   time.monotonic() - began, code, done.stdout)  # fmt: skip


def page(chosen: list[Experiment], args: argparse.Namespace) -> Iterator[str]:
    """The lines of ``tables.md``."""
    yield "# Tables of the papers and of the peers"
    yield ""
    yield "Made by `experiments/paper.py`. Each table names its budget, repetitions and commit."
    for each in chosen:
        yield f"\n## {each.makes}\n"
        kept = _kept(args.output / f"{each.name}.json")
        if kept is None:
            yield "Not measured yet."
            continue
        ends = {0: "", 1: "; **a goal was missed, or none of the runs is complete**"}
        end = ends.get(kept.code, f"; **failed with status {kept.code}**")
        yield f"`{kept.command}`, commit {kept.commit}, {kept.machine}, {kept.date}{end}"
        yield f"\n```text\n{kept.text.strip() or '(nothing was printed)'}\n```"
        if (args.output / f"{each.name}.svg").exists():
            yield f"\n![{each.makes}: over time]({each.name}.svg)"


def plot(rows: Path) -> None:
    """Draw the figure over time beside its rows, if the rows have one."""
    try:
        plots.draw(rows, rows.with_suffix(".svg"))
    except ValueError:
        return  # a table without a time axis
    except OSError as e:
        print(f"no figure of {rows.name}: {e}", file=sys.stderr)
    except ImportError:
        print("no figures: matplotlib is missing; pip install -e '.[bench]'", file=sys.stderr)


def archive(file: Path, output: Path) -> None:
    """Pack the output with the logs, this commit's sources, versions of packages, checksums."""
    git = ["git", "-C", str(ROOT), "archive", "--format=tar", "HEAD"]
    packages = {f"{of.name}=={of.version}\n" for of in importlib.metadata.distributions()}
    runs = "runs/experiments/*/*/*"  # of campaigns.py
    files = sorted(path for part in ("*", f"{runs}/campaign.toml", f"{runs}/log/*")
                   for path in output.glob(part)
                   if path.is_file() and path.resolve() != file.resolve())  # fmt: skip
    parts = {f"rows/{path.relative_to(output)}": path.read_bytes() for path in files}
    parts["sources.tar"] = subprocess.run(git, capture_output=True, check=True).stdout
    parts["packages.txt"] = "".join(sorted(packages)).encode()
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in parts.items())
    parts["SHA256SUMS"] = sums.encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w:gz") as packed:
        for name, data in parts.items():
            member = tarfile.TarInfo(f"fuzztui-tables/{name}")
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    print(f"{file}: {len(parts)} files; in it: sha256sum -c SHA256SUMS", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = read()
    names = ", ".join(known)
    parser.add_argument("--only", default=",".join(known), help=f"names by comma: {names}")
    parser.add_argument("--papers", action="store_true", help="the budgets of the papers")
    parser.add_argument("--output", type=Path, default=Path("runs/paper"))
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--archive", type=Path, metavar="FILE.tar.gz")
    args = parse(parser, "paper", only="mu2,zest", output=None)
    with tempfile.TemporaryDirectory(prefix="paper-") as scratch:
        args.output = (args.output or Path(scratch)).absolute()
        failed = make(parser, known, args)
    sys.exit(2 if failed else 0)


def make(
    parser: argparse.ArgumentParser, known: dict[str, Experiment], args: argparse.Namespace
) -> bool:
    """Measure what is missing, and print the page. Returns whether a command has failed."""
    names = dict.fromkeys(name.strip() for name in args.only.split(","))
    chosen = [known[name] for name in names if name in known]
    if unknown := names.keys() - known.keys():
        parser.error(f"--only: {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    args.output.mkdir(parents=True, exist_ok=True)
    summary, failed = Rows("paper", args.results), False
    due = [] if args.report else [each for each in chosen if not _is_done(each, args)]
    for at, each in enumerate(due):
        left = sum(later.minutes for later in due[at:])
        guess = (
            "" if args.papers or args.smoke else f", at a guess {left // 60} h {left % 60} min left"
        )
        print(f"[{at + 1}/{len(due)}{guess}] {each.name}: {each.makes}", file=sys.stderr)
        outcome = measure(each, args)
        (args.output / f"{each.name}.json").write_text(json.dumps(vars(outcome), indent=1))
        plot(args.output / f"{each.name}.jsonl")
        summary.add(
            name=each.name, command=outcome.command, code=outcome.code, took_s=outcome.took_s
        )
        (args.output / "tables.md").write_text("\n".join(page(chosen, args)) + "\n")
        if outcome.code > 1 or outcome.code < 0:
            failed = True
            print(f"{each.name} failed with status {outcome.code}", file=sys.stderr)
    print("\n".join(page(chosen, args)))
    if args.archive:
        archive(args.archive, args.output)
    return failed


def _is_done(each: Experiment, args: argparse.Namespace) -> bool:
    """Whether the same command has measured it at this commit."""
    kept = _kept(args.output / f"{each.name}.json")
    if kept is None or kept.code not in (0, 1) or kept.commit.endswith("+") or not kept.commit:
        return False  # of changed sources the commit does not say which
    return kept.command == shlex.join(each.words(args)) and kept.commit == commit()


if __name__ == "__main__":
    main()
