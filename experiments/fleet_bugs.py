"""Is every planted bug that a fleet finds shown once, under the right name and severity?

Three packages of Debian's (``lab/fleet_programs.py``), eight planted bugs in each. A campaign of
two harnesses on two cores, each fuzzed by four binaries (plain, ASAN, UBSAN, CmpLog). After a third
of the time all of its processes are killed, after two thirds it is stopped; each time the same
command continues it.

    python experiments/fleet_bugs.py --minutes 10

Judged without fuzztui: each crash file that an instance has saved runs in the binary of that
instance, which prints the numbers of the bugs that it reaches, the last one before it fails. Titles
and severities are those of ``KINDS`` and of the function in which the bug was planted. The lines
are those of gcov and of llvm-cov, which run the same queue files in builds of their own. Against
that stand ``status --json``, the logs, and ``fuzztui coverage``:

- missing: bugs that an instance has found, and that no group shows; invented: the reverse;
- twice: bugs with more than one group, by title, with the calls of the group's first file by hand;
  alike: how many of these groups have the three innermost calls of another one;
- mixed: files in groups of another bug than they reach;
- title, severity: groups whose title or severity is another one than that of the bug's kind;
- unlisted: crash files that no log names; unexamined: findings without a group;
- others: groups of bugs that nobody planted;
- lines: executed ones, and in how many the two differ, by harness and tool.

Goal: none missing, twice, mixed or wrong, no line different. Rows go to ``--results``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomli_w
from lab.figures import table
from lab.first_programs import WITHOUT_AFL
from lab.fleet_programs import FLEET_PROGRAMS, HARNESSES, KINDS, RECURSION, FleetProgram
from lab.headless import fuzztui
from lab.options import parse
from lab.planting import gcov_lines
from lab.rows import Rows
from lab.runs import RunFailed

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State

Row = dict[str, Any]
Lines = dict[tuple[str, int], bool]
"""Whether a line of a file is executed."""

BINARIES = {"main": "build", "s1": "build-asan", "s2": "build-ubsan", "s3": "build"}
"""The directory of each instance's binary; one of them has the one for CmpLog besides."""

_BUG = re.compile(r"planted bug (\d+)")
_FRAME = re.compile(r"^ +#\d+ 0x[0-9a-f]+ in (\S+) (/\S+?):\d", re.MULTILINE)
_ASAN = (  # as afl-fuzz sets them
    "detect_leaks=0:abort_on_error=1:handle_abort=1:detect_odr_violation=0"
    ":allocator_may_return_null=1:symbolize="
)


def campaign(program: FleetProgram, source: Path, run: Path, minutes: float) -> Row:
    """The campaign file."""
    return {
        "campaign": {"name": program.name, "output": str(run), "budget": f"{minutes * 60:g}s",
                     "cores": 2, "seed": 38},
        "target": {"command": ["./program"], "source": str(source), "timeout": "200ms",
                   "binaries": {"asan": {}, "ubsan": {}, "cmplog": {}}},
        "engine": {"kind": "afl", "instances": len(BINARIES), "seeds": [str(program.seeds)]},
        "targets": [
            {"name": name, "target": {"build": program.harness(name)}} for name in HARNESSES
        ],
    }  # fmt: skip


FAILS = {"build": {4, 5, 6, 7}, "build-asan": {*range(1, 8)}, "build-ubsan": {*range(4, 9)}}
"""The bugs at which a binary ends: it runs on after others, perhaps into another failure."""
_OTHER = 0
_DRIVER = ("driver.c", "parser.h")


def processes(run: Path) -> Iterator[int]:
    """All processes of a run: those with its directory in their command or environment."""
    mark = os.fsencode(run)
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes():
                yield int(entry.name)


def killed(run: Path) -> int:
    """Kill all processes of a run until there are none; how many there were."""
    seen = set[int]()
    while found := {*processes(run)} - {os.getpid()}:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        seen |= found
        time.sleep(0.1)
    return len(seen)


def fuzz(file: Path, run: Path, minutes: float) -> Row:
    """Run the campaign to its end, interrupted twice. What happened. Raises :class:`RunFailed`."""
    command = [sys.executable, "-m", "fuzztui", str(file), "--headless"]
    happened: Row = {}
    for at, how in ((1 / 3, "kill"), (2 / 3, "stop"), (2, "")):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace",
        )  # fmt: skip
        now: Row = {}
        while process.poll() is None and not (
            now.get("running_s", 0) >= at * minutes * 60 and now["execs"] > 0
        ):
            time.sleep(minutes / 2)
            now = status(run)
        if how == "kill":
            happened["killed_processes"] = killed(run)
        elif how == "stop":
            with suppress(RunFailed):  # it may have ended meanwhile
                fuzztui("ctl", run, "stop")
        _, said = process.communicate()
        if how != "kill" and process.returncode not in (0, 10):
            raise RunFailed(f"{file}: status {process.returncode}\n{said[-2000:]}")
        now = status(run)
        happened[f"{how or 'end'}_s"] = now["running_s"]
        happened["left_processes"] = len([*processes(run)])
        if now["state"] == "finished":  # with a small budget
            break
    return happened


def status(run: Path) -> Row:
    """``status --json``; empty as long as there is no run."""
    with suppress(RunFailed):
        found: Row = json.loads(fuzztui("status", run, "--json"))
        return found
    return {}


def ran(program: Path, file: Path, *, symbols: bool = False) -> tuple[int, str]:
    """The exit status of a program, minus the signal's number, and what it printed."""
    env = {**os.environ, "ASAN_OPTIONS": f"{_ASAN}{symbols:d}"}
    with file.open("rb") as stdin:
        done = subprocess.run(
            [program], stdin=stdin, capture_output=True, check=False, timeout=60, env=env
        )
    return done.returncode, done.stderr.decode(errors="replace")


def failed(run: Path, binary: str, file: Path) -> int | None:
    """The planted bug at which a crash file fails in a binary of a target. None: it does not."""
    code, said = ran(run / binary / "program", file)
    if code >= 0:
        return None
    number = int([_OTHER, *_BUG.findall(said)][-1])
    return number if number in FAILS.get(binary, FAILS["build"]) else _OTHER


def judged(run: Path) -> dict[str, tuple[int | None, int | None]]:
    """At which bug each crash file fails: in the binary of its instance, and under ASAN."""
    found = {}
    for file in sorted(run.glob("targets/*/out/*/crashes*/id:*")):
        target, instance = file.parents[3], file.parents[1].name
        found[f"{target.name}/{instance}/{file.name}"] = (
            failed(target, BINARIES[instance], file), failed(target, "build-asan", file)
        )  # fmt: skip
    return found


def calls(run: Path, group: Row) -> str:
    """The innermost calls of a group's first file under ASAN, in functions of the package."""
    target, name = group["first"].split("/", 1)
    _, said = ran(run / "targets" / target / "build-asan/program", run / "out" / target / name,
                  symbols=True)  # fmt: skip
    source = str(run.with_name("source"))
    return " < ".join([name for name, path in _FRAME.findall(said) if path.startswith(source)][:3])


def shown(run: Path) -> tuple[list[Row], dict[str, str]]:
    """The groups of crashes that fuzztui shows; and the place of each finding by its key."""
    groups = [g for g in status(run)["findings"] if g["category"] == "crash"]
    findings: dict[str, str] = {}
    for target in sorted((run / "targets").iterdir()):
        state = State()
        apply(state, [*LogReader(target / "log").records()])
        for f in state.findings.values():
            if f.category == "crash":
                name = f.file.partition("/")[2]
                findings[f"{target.name}/{f.instance}/{name}"] = f.place
    return groups, findings


def bug_at(program: FleetProgram, place: str) -> int:
    """The number of the bug that is planted at a place such as ``a.c:12 in f``; 0: none."""
    for number, (_, at) in program.bugs().items():
        if place.startswith(f"{Path(at.file).name}:{at.line} "):
            return number
    return RECURSION if re.search(r"in bug_p[io]ng\b", place) else _OTHER


def compared(program: FleetProgram, run: Path) -> Row:
    """The groups against what the crash files do by hand."""
    by_hand, (groups, findings) = judged(run), shown(run)
    found = {own for own, _ in by_hand.values() if own}
    of_bug = defaultdict(list)
    for group in groups:
        if group["signature"]:
            of_bug[bug_at(program, group["place"])].append(group)
    wrong: dict[str, list[str]] = {"title": [], "severity": []}
    for number in {*of_bug} - {_OTHER}:
        kind, function = KINDS[number], program.bugs()[number][0]
        for group in of_bug[number]:
            title = f"bug {number}: {group['title']}"
            if not re.match(kind.title.format(function=re.escape(function)), group["title"]):
                wrong["title"].append(title)
            severity = group["severity"], group["severity_class"]
            if severity != (kind.level, kind.name):
                wrong["severity"].append(f"{title}: {' '.join(map(str, severity))}")
    twice = {n: {g["title"]: calls(run, g) for g in of_bug[n]}
             for n in sorted(found) if len(of_bug[n]) > 1}  # fmt: skip
    return {
        "files": len(by_hand),
        "files_of": {n: [own for own, _ in by_hand.values()].count(n) for n in KINDS},
        "unlisted": sorted({*by_hand} - {*findings}),
        "unexamined": sum(not group["signature"] for group in groups),
        "found": sorted(found),
        "missing": sorted(found - {*of_bug}),
        "invented": sorted({*of_bug} - found - {_OTHER}),
        "twice": twice,
        "alike": sum(
            len(known) - len({*known})
            for known in ([*filter(None, of.values())] for of in twice.values())
        ),
        "mixed": [
            key for key, place in findings.items()
            if (bug := bug_at(program, place)) and bug not in by_hand.get(key, (bug,))
        ],
        **wrong,
        "others": {g["title"]: [g["severity"], calls(run, g)] for g in of_bug[_OTHER]},
        "others_by_hand": sum(_OTHER in both for both in by_hand.values()),
        "not_again": sum(own is None for own, _ in by_hand.values()),
    }  # fmt: skip


def executed(program: FleetProgram, source: Path, run: Path, tool: str, work: Path) -> Lines:
    """The lines of a harness that a tool reports itself, over the queues of all instances."""
    work.mkdir()
    if tool == "gcov":
        compiler, flags, link = "gcc", "--coverage", "--coverage"
    else:
        compiler, link = "clang", "-fprofile-instr-generate"
        flags = f"{link} -fcoverage-mapping"
    words = {"FLAGS": f"{WITHOUT_AFL} -O0 {flags}", "LIBS": link}
    command = program.harness(run.name, **words)
    env = {**os.environ, "CC": compiler, "SOURCE": str(source), "LLVM_PROFILE_FILE": "%m.profraw"}
    subprocess.run(["sh", "-euc", command], cwd=work, env=env, check=True)
    for file in sorted(run.glob("out/*/queue/id:*")):
        subprocess.run(["./program", file], cwd=work, env=env, capture_output=True, check=False)
    found: Lines = {}
    if tool == "gcov":
        for _, name, line, count in gcov_lines(work):
            at = os.path.relpath(name, source), line
            found[at] = found.get(at, False) or count > 0
        return found
    subprocess.run("llvm-profdata merge -o all *.profraw", shell=True, cwd=work, check=True)
    export = ["llvm-cov", "export", "-format=lcov", "-instr-profile=all", "program"]
    said = subprocess.run(export, cwd=work, capture_output=True, text=True, check=True).stdout
    for record in said.split("end_of_record\n"):
        for name in re.findall("^SF:(.*)$", record, re.MULTILINE):
            for line, count in re.findall(r"^DA:(\d+),(\d+)", record, re.MULTILINE):
                found[os.path.relpath(name, source), int(line)] = count != "0"
    return found


def lines(program: FleetProgram, source: Path, run: Path, scratch: Path) -> Row:
    """By harness and tool: lines, those executed, and those in which fuzztui's figures differ.

    Without headers of the system, and without main(), which gets files here and stdin there.
    """
    rows: Row = {}
    for name in HARNESSES:
        target = run / "targets" / name
        for tool in ("gcov", "llvm-cov"):
            own = executed(program, source, target, tool, scratch / f"{name}-{tool}")
            words = ("--set", f"target.coverage_tool={tool}", "--root", source)
            said = json.loads(fuzztui("coverage", target, "--format", "json", *words))
            ours = {
                (file, line): is_executed
                for file, of in said["files"].items()
                for key, is_executed in (("executed_lines", True), ("missing_lines", False))
                for line in of[key]
            }
            own, ours = (
                {at: n for at, n in found.items() if not at[0].startswith((*_DRIVER, ".."))}
                for found in (own, ours)
            )
            rows[f"{name} {tool}"] = {
                "lines": len(own),
                "executed": sum(own.values()),
                "differ": sorted(f"{at[0]}:{at[1]}" for at in {*own.items()} ^ {*ours.items()}),
            }
    return rows


def measure(program: FleetProgram, args: argparse.Namespace) -> Row:
    """Run one campaign and judge it. Raises :class:`RunFailed`."""
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=args.scratch) as name:
        folder = Path(name).resolve()
        source, run, file = folder / "source", folder / "run", folder / "campaign.toml"
        program.make(source)
        file.write_text(tomli_w.dumps(campaign(program, source, run, args.minutes)))
        happened = fuzz(file, run, args.minutes)
        found = status(run)
        if found["state"] != "finished":
            raise RunFailed(f"{program.name}: {found['reason']}")
        row = {"subject": program.name, "minutes": args.minutes, **happened,
               "execs": {target["id"]: target["execs"] for target in found["instances"]},
               **compared(program, run)}  # fmt: skip
        return {**row, "lines": lines(program, source, run, folder)}


def report(rows: Sequence[Row]) -> None:
    """Print the figures of each package, and what is wrong."""
    heads = [
        "files",
        "found",
        "missing",
        "twice",
        "alike",
        "mixed",
        "title",
        "severity",
        "unexamined",
    ]
    print(table(["package", "minutes", *heads, "lines that differ"], [
        [row["subject"], row["minutes"],
         *(of if isinstance(of := row[head], int) else len(of) for head in heads),
         sum(len(of["differ"]) for of in row["lines"].values())]
        for row in rows
    ]))  # fmt: skip
    for row in rows:
        print(f"\n{row['subject']}: {json.dumps(row, indent=1)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    by_name = {program.name: program for program in FLEET_PROGRAMS}
    parser.add_argument("--subjects", nargs="+", choices=by_name, default=list(by_name))
    parser.add_argument("--minutes", type=float, default=10, help="of a campaign (default: 10)")
    parser.add_argument("--scratch", type=Path, help="where campaigns run (default: TMPDIR)")
    parser.add_argument("--report", action="store_true", help="only show what is there")
    args = parse(parser, "fleet_bugs", subjects=["cjson"], minutes=0.4)
    rows = Rows("fleet_bugs", args.results)
    if not args.report:
        for name in args.subjects:
            rows.add(**measure(by_name[name], args))
    report([row for row in rows.read() if row["subject"] in args.subjects])


if __name__ == "__main__":
    main()
