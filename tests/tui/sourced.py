"""The made-up campaign of ``mutated.py``, with the coverage of its lines, a crash and a goal."""

from __future__ import annotations

from hashlib import sha256

from fakes import Log
from mutated import PROGRAM, mutated

from fuzztui.kernel.wire import events as ev

PATH = str(PROGRAM)
STATEMENTS = "4-5,8,11-14,16-21,23-34"
FUNCTIONS = [
    "4-5 is_digit", "11-14 Parser.__init__", "16-21 Parser.number", "23-34 Parser.items",
]  # fmt: skip
BLOCKS = [18, 19, 26, 27, 28, 29, 30, 31]
BRANCHES = [4, 12, 17, 18, 18, 24, 26, 26, 28, 30]
STEPS = (
    (ev.LinesCovered("main", -1, {PATH: "4,8,11,16,23"}), 10.0),
    (ev.LinesCovered("main", 1, {PATH: "12-14,17-18,21"}, {PATH: "1-2"}), 60.0),
    (ev.LinesCovered("main", 3, {PATH: "5,19-20"}, {PATH: "0,3-4"}), 60.0),
    (ev.LinesCovered("main", 5, {PATH: "24-26,28-30,33-34"}, {PATH: "5-6,8-9"}), 120.0),
)


def source_file(sha: str = "") -> ev.SourceFile:
    sha = sha or sha256(PROGRAM.read_bytes()).hexdigest()[:16]
    return ev.SourceFile(
        "main", PATH, "tests.program", sha, STATEMENTS, FUNCTIONS, BLOCKS, BRANCHES
    )


def crash(log: Log) -> None:
    frames = [
        {"function": "startswith", "file": "/usr/lib/x.py", "line": 7, "kind": "library"},
        {"function": "Parser.items", "file": PATH[-200:], "line": 30},
    ]
    log.add(
        ev.FindingSaved("main", "crash", "crashes/id:000000", 0, [3], "havoc", 0, 9, 9, 31),
        ev.FindingDescribed(
            "main", "crash", "crashes/id:000000", "sig-1", "TypeError: startswith",
            "program.py:30 in items", "Traceback", "b'1,2'", frames=frames, basis={"name": "E"},
        ),
    )  # fmt: skip


def sourced(count: int = 54, *, sha: str = "", goal: bool = False) -> Log:
    """Most of the program is covered; line 27 is on the frontier, as are 31 and 32."""
    log = mutated(count, 60).add(source_file(sha))
    for event, dt in STEPS:
        log.add(event, dt=dt)
    crash(log)
    if goal:
        left = {"tui/program.py:27:then": {"frontier": True, "types": [["decimal.Decimal", 1]]}}
        log.add(ev.GoalsUncovered("main", 9, left))
    return log
