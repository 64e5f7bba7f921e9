"""A made-up mu2 campaign: mutants of ``program.py``, killed one after the other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fakes import CAPABILITIES, Log, _stats, started

from fuzztui.kernel.wire import events as ev

STEERING = [
    "skip-mutants", "promote-mutants", "move-mutants", "mark-equivalent", "requeue-mutants",
    "exact-pass",
]  # fmt: skip
PROGRAM = Path(__file__).with_name("program.py")
FILE = "tests/program.py"

# line, function, operator, before, after
CHANGES = (
    (5, "is_digit", "boundary", '"0" <= ch <= "9"', '"0" < ch <= "9"'),
    (5, "is_digit", "boundary", '"0" <= ch <= "9"', '"0" <= ch < "9"'),
    (5, "is_digit", "returns", '"0" <= ch <= "9"', "True"),
    (13, "Parser.__init__", "math", "pos + 0", "pos - 0"),
    (18, "Parser.number", "boundary", "self.pos < len(self.text)", "self.pos <= len(self.text)"),
    (18, "Parser.number", "negate", "is_digit(self.text[self.pos])",
     "not is_digit(self.text[self.pos])"),
    (19, "Parser.number", "math", "value * 10 + int(self.text[self.pos])",
     "value * 10 - int(self.text[self.pos])"),
    (19, "Parser.number", "math", "value * 10", "value // 10"),
    (20, "Parser.number", "increments", "self.pos += 1", "self.pos -= 1"),
    (21, "Parser.number", "returns", "value", "None"),
    (25, "Parser.items", "increments", "self.depth += 1", "self.depth -= 1"),
    (26, "Parser.items", "boundary", "self.depth > 100", "self.depth >= 100"),
    (26, "Parser.items", "negate", "self.depth > 100", "not self.depth > 100"),
    (28, "Parser.items", "boundary", "self.pos < len(self.text)", "self.pos <= len(self.text)"),
    (30, "Parser.items", "negate", 'self.text.startswith(",", self.pos)',
     'not self.text.startswith(",", self.pos)'),
    (32, "Parser.items", "increments", "self.pos += 1", "self.pos -= 1"),
    (33, "Parser.items", "increments", "self.depth -= 1", "self.depth += 1"),
    (34, "Parser.items", "returns", "found", "[]"),
)  # fmt: skip
ORACLES = ("value", "value", "exception", "timeout", "died")


def mutants(count: int) -> Iterator[dict[str, Any]]:
    """``count`` mutants as the engine tells them; beyond the program's own, made-up functions."""
    for i in range(count):
        line, function, operator, before, after = CHANGES[i % len(CHANGES)]
        number = i // len(CHANGES)
        if number:
            function += str(number)
        mutant = {
            "id": f"tests.program:{function}:{operator}:{i}:x",
            "line": line,
            "function": function,
            "operator": operator,
            "before": before,
            "after": after,
        }
        if i % 40 == 39:
            mutant["static"] = True
        yield mutant


def found(log: Log, count: int, instance: str = "main") -> list[str]:
    """The engine tells its mutants; their ids."""
    told = list(mutants(count))
    for start in range(0, count, 300):
        part = told[start : start + 300]
        log.add(ev.MutantsFound(instance, "tests.program", FILE, str(PROGRAM), part))
    return [m["id"] for m in told]


def killed(instance: str, id: str, n: int, trial: int) -> ev.MutantState:
    """The ``n``-th kill."""
    oracle = ORACLES[n % len(ORACLES)]
    detail = "returned 3, the mutant 4" if oracle == "value" else "the mutant raised IndexError"
    return ev.MutantState(instance, id, "killed", f"{instance}/{n}", oracle, trial, detail)


def analysis(
    instance: str,
    second: float,
    *,
    audit_kills: int = 0,
    phase: str = "",
    unsettled: int = -1,
    left_s: float = -1.0,
    pass_share: float = -1.0,
) -> ev.MutationStats:
    """Figures that grow with time."""
    n = int(second)
    return ev.MutationStats(
        instance, 0.41 * second, 0.22 * second, 0.03 * second, 0.34 * second,
        210 * n, 6100 * n, 40 * n, 2900 * n, 1300 * n, 350 * n, 12 * n, audit_kills, 2,
        0.12, 340, phase, unsettled, left_s, pass_share,
    )  # fmt: skip


def mutated(count: int = 309, seconds: int = 600, *, name: str = "tomllib-mu2") -> Log:
    """Some way into a mu2 campaign: most are killed, some of each other state."""
    rng = random.Random(5)
    log = started(name, engine="mu2").add(
        ev.InstanceState("main", "running", 5001),
        ev.InstanceHello("main", "mu2", "0.1", "3.11.2", 5001, CAPABILITIES + STEERING),
    )
    log.add(ev.CampaignState("running"), dt=0.5)
    ids = found(log, count)
    doomed = rng.sample(range(count), int(0.82 * count))
    entries = kills = 0
    for second in range(1, seconds + 1):
        log.add(dt=1.0)
        goal = int(len(doomed) * (1 - 2.0 ** (-second / 60)))
        if goal > kills:
            log.add(
                ev.EntrySaved("main", entries, f"queue/id:{entries:06d}", [0] if entries else [],
                              "havoc" if entries else "", "", second * 1000, second * 900, 30),
                ev.EntryDescribed(
                    "main", entries, ["kill"], 300, True, "success", kills=goal - kills
                ),
            )  # fmt: skip
        for n in range(kills, goal):
            event = killed("main", ids[doomed[n]], n, second * 900)
            log.add(ev.MutantState(event.instance, event.id, "killed", f"main/{entries}",
                                   event.oracle, event.trial, event.detail))  # fmt: skip
        entries += goal > kills
        kills = goal
        if second % 2 == 0 or second == seconds:
            _stats(log, "main", second, entries, crashes=0, rng=rng)
            log.add(analysis("main", second))
    alive = [ids[i] for i in range(count) if i not in set(doomed[:kills])]
    log.add(*_the_rest(alive))
    log.add(ev.MutantRuns("main", {id: [90 + i % 50, 40 + i % 9, 12 + i % 7]
                                   for i, id in enumerate(ids) if i % 3}))  # fmt: skip
    return log


def _the_rest(ids: list[str]) -> Iterator[ev.MutantState]:
    """Survivors of every kind."""
    for i, id in enumerate(ids):
        match i % 10:
            case 0:
                yield ev.MutantState("main", id, "equivalent", reason="both ways give the same")
            case 1:
                yield ev.MutantState("main", id, "skipped", reason="asked for by me@here")
            case 2:
                yield ev.MutantState("main", id, "alive", steer="promoted")
            case 3:
                yield ev.MutantState("main", id, "invalid", reason="free variables differ")
            case 4:
                continue  # still pending
            case 5:
                yield ev.MutantState("main", id, "alive", steer="last")
            case _:
                yield ev.MutantState("main", id, "alive")
