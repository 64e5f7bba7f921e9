"""mu2 as the supervisor starts it: real processes, real targets, files read afterwards."""

import itertools
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, execs, kill, names, stats, timeless, worker_of
from skipped import nightly
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

PROGRAM = '''
"""A small program with a bit of everything that is mutated."""

def clamp(n, low, high):
    if n < low:
        return low
    if n > high:
        return high
    return n


def total(data):
    n = 0
    for c in data:
        n += c
        if n > 1000:
            n -= 1000
    return n


class Box:
    LIMIT = 10 + 5

    def __init__(self, items):
        self.items = list(items)

    def biggest(self):
        best = -1
        for i in self.items:
            if i >= best:
                best = i
        return best

    def fits(self):
        return len(self.items) <= self.LIMIT


def parse(data: bytes):
    if not data:
        raise ValueError("empty")
    box = Box(data)
    i = 0
    words = []
    while i < len(data):
        j = i
        while j < len(data) and data[j] != 32:
            j += 1
        words.append(data[i:j].decode("latin-1"))
        i = j + 1
    return clamp(total(data), 3, 900), box.biggest(), box.fits(), words
'''


def mu2(lab: Lab, module: str = "prog", **keys: Any) -> Path:
    engine = {"kind": "mu2", "schedule": "adaptive", **keys.pop("engine", {})}
    target = {"include": [module], "expected": ["ValueError"], **keys.pop("target", {})}
    function = keys.pop("function", f"{module}:parse")
    return lab.spec(function, engine=engine, target=target, **keys)


def ran(lab: Lab, program: str = PROGRAM, timeout: float = DEADLINE_S, **keys: Any) -> Path:
    """Run a campaign of ``prog.py`` to its end. Returns its directory."""
    lab.write("prog.py", program)
    return lab.finish(mu2(lab, **keys), timeout)


def states(directory: Path) -> dict[str, dict[str, Any]]:
    """The last word on each mutant that was found."""
    found = {
        m["id"]: {"state": "pending", **m}
        for event in events(directory, "mutants_found")
        for m in event["mutants"]
    }
    for event in events(directory, "mutant_state"):
        found[event["id"]] |= event
    return found


def killed(directory: Path) -> set[str]:
    return {id_ for id_, m in states(directory).items() if m["state"] == "killed"}


def scored(lab: Lab, directory: Path) -> dict[str, str]:
    """The states of all mutants, by an independent scoring of the queue."""
    done = lab.ask(directory / "spec.json", "--score", directory / "queue")
    assert done.returncode == 0, done.stderr
    *progress, last = (json.loads(line) for line in done.stdout.splitlines())
    assert all(next(iter(line)) == "progress" for line in progress)
    mutants = last["result"]["mutants"]
    assert last["result"]["total"] == len(mutants)
    return {m["id"]: m["state"] for m in mutants}


def score(lab: Lab, directory: Path) -> set[str]:
    """The mutants that the inputs of the queue kill, found again by :func:`scored`."""
    return {id_ for id_, state in scored(lab, directory).items() if state == "killed"}


def command(directory: Path, id_: str, **body: Any) -> dict[str, Any]:
    """Send a command. Returns the answer."""
    with (directory / "control.jsonl").open("a") as file:
        file.write(json.dumps({"id": id_, "command": body}) + "\n")

    def answers() -> list[dict[str, Any]]:
        return [e for e in events(directory) if e.get("id") == id_ and "command" in e["k"]]

    (event,) = wait_until(answers)
    return event


def exact_pass_begun(lab: Lab, constants: int) -> tuple[subprocess.Popen[bytes], Path]:
    """An engine in its exact pass, and its directory.

    Each static mutant takes an import, and an import takes a while.
    """
    lines = "".join(f"C{i} = {i} + 1\n" for i in range(constants))
    lab.write(
        "prog.py",
        f"import time\ntime.sleep(0.2)\n{lines}\n"
        "def parse(data: bytes):\n    return [len(data), C0, C1, C2, C3]\n",
    )
    spec = mu2(lab)
    engine = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > 50)
    engine.send_signal(signal.SIGUSR2)  # as the supervisor does when the budget is used up
    wait_until(
        lambda: any(e.get("phase") == "exact" for e in events(spec.parent, "mutation_stats"))
    )
    return engine, spec.parent


# --------------------------------------------------------------------- the main job


@pytest.mark.parametrize("schedule", ["adaptive", "full"])
def test_kills_are_saved_with_their_inputs_and_the_score_is_exact(lab: Lab, schedule: str) -> None:
    directory = ran(lab, engine={"schedule": schedule}, budget_trials=3000)
    found = states(directory)
    dead = killed(directory)
    assert {m["operator"] for m in found.values()} >= {
        "boundary", "increments", "negatives", "math", "negate", "returns",
    }  # fmt: skip
    assert any(m.get("static") for m in found.values())  # LIMIT = 10 + 5
    assert len(dead) > 0.7 * len(found)
    # Each killer is a file of the queue, and it is said of that entry that it kills.
    kills = {e["id"]: e.get("kills", 0) for e in events(directory, "entry_described")}
    for id_ in dead:
        instance, _, entry = found[id_]["killer"].partition("/")
        assert instance == "main"
        assert any(name.startswith(f"id:{int(entry):06d}") for name in names(directory, "queue"))
        assert kills[int(entry)] > 0
        assert found[id_]["oracle"] in ("value", "exception", "timeout", "died")
    assert sum(kills.values()) == len(dead)
    # The exact pass at the end found what an independent scoring of the same files finds.
    again = scored(lab, directory)
    assert {id_ for id_, state in again.items() if state == "killed"} == dead
    assert len(again) == len(found)
    # Sound pruning: nothing that was pruned killed, and it was looked at.
    last = events(directory, "mutation_stats")[-1]
    assert last.get("audit_kills", 0) == 0
    assert last["unsettled"] == 0
    assert 0 <= last["pass_share"] < 1
    if schedule == "full":
        assert last["audits"] > 0
    assert last["runs"] > 0 and last["original_s"] > 0 and last["mutants_s"] > 0


def test_a_seed_repeats_the_run(lab: Lab) -> None:
    lab.write("prog.py", PROGRAM)
    runs = []
    for instance in ("main", "main2"):
        # The instance is part of the seed: the same name in another sync dir.
        directory = ran(Lab(lab.root / instance), budget_trials=2000)
        # Child processes run beside the loop: when they tell of a static mutant is chance.
        static = {i for i, m in states(directory).items() if m.get("static")}
        kills = [
            (e["id"], e["killer"], e["trial"])
            for e in events(directory, "mutant_state")
            if e["state"] == "killed" and e["id"] not in static
        ]
        runs.append((timeless(directory), kills))
    assert runs[0] == runs[1]


def test_a_killed_worker_goes_on_and_forgets_nothing(lab: Lab) -> None:
    lab.write("prog.py", PROGRAM)
    spec = mu2(lab)
    engine = lab.start(spec)
    wait_until(lambda: len(killed(spec.parent)) > 20)
    before = killed(spec.parent)
    kill(worker_of(engine))
    lab.goes_on(spec.parent, 500)
    lab.end(engine)
    assert before <= killed(spec.parent)
    # A kill is told once: the restart has not told them all again.
    told = [e["id"] for e in events(spec.parent, "mutant_state") if e["state"] == "killed"]
    assert len(told) == len(set(told))
    found = [m["id"] for e in events(spec.parent, "mutants_found") for m in e["mutants"]]
    assert len(found) == len(set(found))


CACHED = """
from functools import lru_cache

@lru_cache(maxsize=None)
def double(n):
    return n * 2

def parse(data):
    n = double(3) if data[:1] in b"AB" else 1
    if data[:1] == b"A":
        raise ValueError
    return n
"""


def test_coverage_does_not_shrink_when_a_run_is_resumed(lab: Lab) -> None:
    """An entry that calls a cached function covers it again, whatever ran before it."""
    # INVALID, then valid: both execute double() when they are saved
    seeds = lab.seeds(A=b"A", B=b"B")
    before, after = (
        stats(ran(lab, CACHED, budget_trials=trials, engine={"seeds": seeds}))
        for trials in (300, 301)
    )
    for figure in ("edges_found", "edges_valid", "valid_inputs"):
        assert int(after[figure]) >= int(before[figure])


def test_a_changed_function_makes_its_kills_stale(lab: Lab) -> None:
    before = len(events(ran(lab, budget_trials=1500), "mutant_state"))
    # Used up: only the exact pass runs.
    directory = ran(lab, PROGRAM.replace("n += c", "n += c + 1"), budget_trials=1500)
    told = events(directory, "mutant_state")
    changed = {e["id"] for e in told[before:] if ":total:" in e["id"]}
    assert changed, "the mutants of total() were told again"


# ------------------------------------------------------------------------- steering


def test_commands(lab: Lab) -> None:
    lab.write("prog.py", PROGRAM)
    spec = mu2(lab)
    directory = spec.parent
    engine = lab.start(spec)
    wait_until(lambda: len(killed(directory)) > 20)
    refused = command(directory, "c0", c="skip-mutants", select=min(killed(directory)))
    assert "requeue" in refused["reason"]  # a kill is a fact
    # "n < low" and "n <= low" are the same here, as are "n > high" and "n >= high".
    done = command(directory, "c1", c="skip-mutants", select="function=clamp,operator=boundary")
    assert done["k"] == "command_applied" and done["trial"] > 0
    skipped = {i for i, m in states(directory).items() if m["state"] == "skipped"}
    assert len(skipped) == 2 and all(":clamp:boundary:" in i for i in skipped)
    command(directory, "c2", c="mark-equivalent", select=min(skipped), because="[/x] it is")
    assert states(directory)[min(skipped)]["reason"] == "[/x] it is"
    refused = command(directory, "c3", c="skip-mutants", select="operator=nonsense")
    assert "nonsense" in refused["reason"]
    # "i > best" finds the biggest too: no input kills it while it is being promoted.
    [alive] = [i for i in states(directory) if ":Box.biggest:boundary:" in i]
    done = command(directory, "c4", c="promote-mutants", select=alive)
    assert done["k"] == "command_applied"
    assert states(directory)[alive]["steer"] == "promoted"
    dead = min(killed(directory))
    command(directory, "c5", c="requeue-mutants", select=dead)
    wait_until(lambda: dead in killed(directory))  # the corpus still kills it
    assert command(directory, "c6", c="exact-pass")["k"] == "command_applied"
    wait_until(lambda: any("exact pass" in text for text in lab.messages(directory)))
    # All of it outlives the worker.
    kill(worker_of(engine))
    lab.goes_on(directory, 300)
    lab.end(engine)
    last = states(directory)
    assert last[min(skipped)]["state"] == "equivalent"
    assert all(last[i]["state"] == "skipped" for i in skipped - {min(skipped)})


# ------------------------------------------------------------------------ isolation

HOSTILE = {
    "exits": ("import os", "if n < 0:\n        os._exit(3)"),
    "segfaults": ("import ctypes", "if n < 0:\n        ctypes.string_at(0)"),
    # Its condition is not mutated: each mutant that hangs takes a quarter of a minute.
    "hangs in C": ("import hanging", "hanging.hang(n)"),
    "eats memory": ("", "if n < 0:\n        n = len(b'x' * (1 << 40))"),
    "recurses": ("", "if n < 0:\n        return check(n)"),
    "loops": ("", "while n < 0:\n        pass"),
}


@pytest.mark.parametrize("what", ["segfaults", *nightly(*(w for w in HOSTILE if w != "segfaults"))])
def test_a_hostile_mutant_costs_no_result(lab: Lab, what: str) -> None:
    """``n`` is never negative but in a mutant of ``length``: then the process is in danger."""
    head, danger = HOSTILE[what]
    hang = "def hang(n):\n    if n < 0:\n        sum(itertools.count())\n"
    lab.write("hanging.py", f"import itertools\n\n{hang}")
    program = (
        f"{head}\n\ndef check(n):\n    {danger}\n    return n\n\n"
        "def length(data):\n    n = 0\n    for c in data:\n        n += 1\n    return n\n\n"
        "def parse(data: bytes):\n    return check(length(data)), data[:2] == b'ab'\n"
    )
    limits = {"timeout_s": 0.3, "memory_bytes": 2 << 30}
    directory = ran(lab, program, budget_trials=1200, target=limits)
    assert execs(directory) == 1200
    increments = next(i for i in states(directory) if ":length:increments" in i)
    assert increments in killed(directory)
    assert not names(directory, "crashes"), "the input is not to blame"
    assert not names(directory, "hangs")
    assert increments in score(lab, directory)


def test_a_mutant_that_leaves_something_behind_is_found_out(lab: Lab) -> None:
    program = (
        "import array\nSEEN = array.array('B')\n\n"
        "def note(c):\n    if c != c:\n        SEEN.append(c)\n    return c\n\n"
        "def parse(data: bytes):\n    for c in data[:4]:\n        note(c)\n"
        "    return len(data), len(SEEN)\n"
    )
    directory = ran(lab, program, budget_trials=1500)
    isolation = json.loads((directory / "isolation.json").read_text())
    assert any(":note:negate:" in id_ for id_ in isolation["outside"])
    # What the polluted process said of others was not believed.
    leaky = next(i for i in isolation["outside"])
    assert leaky in killed(directory)
    assert score(lab, directory) == killed(directory)


def test_a_flaky_target_kills_nobody_by_chance(lab: Lab) -> None:
    program = (
        "import random\n\ndef same(n):\n    return n\n\n"
        "def parse(data: bytes):\n    m = same(len(data))\n"
        "    return random.SystemRandom().random()\n"
    )
    assert not killed(ran(lab, program, budget_trials=400))


def test_what_cannot_be_swapped_runs_in_children(lab: Lab) -> None:
    program = (
        "LIMIT = 2 * 3\n\n"
        "def parse(data: bytes, most=LIMIT - 1):\n    return len(data) + most, LIMIT\n"
    )
    directory = ran(lab, program, budget_trials=300)
    found = {i: m for i, m in states(directory).items() if m.get("static")}
    assert len(found) >= 2
    assert all(m["state"] == "killed" for m in found.values()), found


def test_the_exact_pass_is_made_although_the_worker_dies_in_it(lab: Lab) -> None:
    engine, directory = exact_pass_begun(lab, constants=8)
    kill(worker_of(engine))  # if it has not come to its end already
    assert engine.wait(DEADLINE_S) == 0
    assert any("exact pass:" in text for text in lab.messages(directory))
    assert len(killed(directory)) >= 4


def test_an_exact_pass_that_is_cut_short_leaves_a_lower_bound(lab: Lab) -> None:
    directory = ran(lab, engine={"exact_budget": [0.0, 10]}, budget_trials=1500)
    last = events(directory, "mutation_stats")[-1]
    assert last["unsettled"] > 0 and not last.get("phase")
    assert last["pass_share"] == 1.0
    assert killed(directory) <= score(lab, directory)


def test_an_exact_pass_that_is_stopped_leaves_a_lower_bound(lab: Lab) -> None:
    engine, directory = exact_pass_begun(lab, constants=40)
    lab.end(engine)
    last = events(directory, "mutation_stats")[-1]
    assert last["unsettled"] > 0 and not last.get("phase")


TOTALS = [
    "original_s", "mutants_s", "compile_s", "rest_s", "runs", "dead", "skipped", "unexecuted",
    "uninfected", "put_off", "audits", "audit_kills",
]  # fmt: skip


def test_totals_go_on_when_workers_and_engines_are_killed(lab: Lab) -> None:
    """None goes back, and at the end they are of all the work, not of the last start."""
    lab.write("prog.py", PROGRAM)
    spec = mu2(lab)
    directory = spec.parent
    cycles: list[int] = []
    engine = lab.start(spec)
    for life in range(7):
        told, done = len(events(directory, "mutation_stats")), execs(directory)
        # One report at the start of a worker, one of what it has done.
        wait_until(lambda n=told + 2: len(events(directory, "mutation_stats")) >= n)
        wait_until(lambda n=done + 300: execs(directory) > n)
        cycles.append(int(stats(directory)["cycles_done"]))
        if life == 6:
            lab.end(engine)
        elif life % 2:
            engine.kill()
            engine.wait()
            engine = lab.start(spec)
        else:
            kill(worker_of(engine))
    reports = events(directory, "mutation_stats")
    assert len(reports) >= 12
    for before, after in itertools.pairwise(reports):
        for name in TOTALS:
            assert before.get(name, 0) <= after.get(name, 0), name
    assert cycles == sorted(cycles)
    assert int(stats(directory)["cycles_done"]) >= cycles[-1]
    # The times are of all the work: each start has added to those of before.
    spent = [sum(report.get(name, 0) for name in TOTALS[:4]) for report in reports]
    assert 0 < spent[len(spent) // 2] < spent[-1]
