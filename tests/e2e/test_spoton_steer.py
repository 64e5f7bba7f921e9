"""Steering the spoton engine: by trials it repeats, and what was set outlives what is killed."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_lab import Lab, events, kill, timeless, worker_of
from spoton_lab import document, write_document
from supervised import Supervised
from waiting import DEADLINE_S, wait_until

from fuzztui.cli import main as fuzztui
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import (
    Command,
    DemoteEntry,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    SkipEntry,
    Stop,
    WeighType,
)

pytestmark = pytest.mark.slow

APP = """\
import datetime
import os
import time
from dataclasses import dataclass


@dataclass
class Size:
    n: int


@dataclass
class File:
    name: str
    size: Size
    created: datetime.date


def limit() -> int:
    return 256 if os.path.exists({flag!r}) else 0


def run(file: File) -> str:
    time.sleep({sleep})
    if file.size.n < limit():
        return "small"
    if file.created.year == 2008:
        return "then"
    if file.name:
        return "named"
    return ""
"""
GENERATORS = """\
import datetime
from app import File, Size
from fuzztui.generators import Source, generator


@generator
def gen_date(r: Source) -> datetime.date:
    return datetime.date(1900 + r.below(256), 1 + r.below(12), 1 + r.below(28))


@generator
def gen_size(r: Source) -> Size:
    return Size(r.below(256))


@generator
def gen_file(r: Source) -> File:
    return File(r.text("abcdef", 1, 8), gen_size(r), gen_date(r))
"""


def line_of(text: str) -> int:
    return APP[: APP.index(text)].count("\n") + 1


SMALL, YEAR = line_of("if file.size.n"), line_of("if file.created.year")
NAMED = line_of("if file.name")


# --------------------------------------------------------------- the engine alone

SCRIPTED = """\
import json, os, sys, time
from pathlib import Path
from fuzztui.engines.process import worker
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.events import EventLog
from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.directory.store import Store

spec = read_spec(Path(sys.argv[1]))
commands = json.loads(sys.argv[2])
log = EventLog(spec.dir / "events.jsonl", spec.instance)
Store(spec.dir, log, time.sleep).create()
journal = TrialJournal(spec.dir / ".cur_input", spec.engine.max_size)
loop = worker.build(spec, journal, log)
while journal.counters[j.TRIAL] < spec.budget_trials:
    for number, (at, command) in enumerate(commands):
        if at == journal.counters[j.TRIAL]:
            with (spec.dir / "control.jsonl").open("a") as control:
                control.write(json.dumps({"id": f"c{number}", "command": command}) + "\\n")
    loop.steering.poll()
    if journal.counters[j.TRIAL] % int(sys.argv[3]) == 0:
        loop.parts.tick()
    loop.trial(loop._propose(), time.monotonic_ns())
loop.parts.finish()
os._exit(0)
"""


def write(lab: Lab, others: Mapping[str, str] | None = None) -> Path:
    """Write the program, with other expressions in the place of some."""
    app = APP.format(flag="/no/such/flag", sleep=0)
    for there, other in (others or {}).items():
        app = app.replace(there, other)
    lab.write("app.py", app)
    lab.write("gens.py", GENERATORS)
    branches = {SMALL: {"app.Size": 1, "app.File": 2}, YEAR: {"datetime.date": 1, "app.File": 2}}
    return write_document(lab.root / "targets.json", document("app", app, branches))


def test_the_same_commands_at_the_same_trials_give_the_same_queue(lab: Lab) -> None:
    # No input covers the goals while the commands come; some cover another branch.
    file = write(lab, {"created.year": "created.month", "if file.name": "if file.size.n % 50 == 7"})
    (lab.root / "scripted.py").write_text(SCRIPTED)
    steered = [
        (200, {"c": "weigh-type", "type": "datetime.date", "weight": 0}),
        (300, {"c": "pin-target", "location": f"app.py:{SMALL}:then"}),
        (300, {"c": "demote", "entry": 0}),
        (400, {"c": "ignore-target", "location": f"app.py:{YEAR}:then"}),
        (500, {"c": "targeted", "share": 0.9}),
        (550, {"c": "targeted", "adaptive": True}),
        (600, {"c": "ignore-target", "location": f"app.py:{SMALL}:then"}),
        (650, {"c": "ignore-target", "location": f"app.py:{YEAR}:then", "ignored": False}),
        (700, {"c": "pin-target", "location": ""}),
        (700, {"c": "weigh-type", "type": "date", "weight": 50}),
    ]

    def run(name: str, commands: list[Any], hash_seed: str, tick: int) -> dict[str, Any]:
        directory = lab.root / name / "main"
        directory.mkdir(parents=True)
        spec = lab.spec(
            "app:run", dir=str(directory), sync_dir=str(lab.root / name), budget_trials=2500,
            engine={"kind": "spoton", "targets": str(file), "constants": False},
            target={"generator": "gens:gen_file"},
        )  # fmt: skip
        argv = [lab.python, "-P", str(lab.root / "scripted.py"), str(spec), json.dumps(commands)]
        env = {**lab.env, "PYTHONHASHSEED": hash_seed}
        subprocess.run([*argv, str(tick)], env=env, check=True, timeout=DEADLINE_S)
        answers = [(e["id"], e["trial"]) for e in events(directory, "command_applied")]
        assert answers == [(f"c{number}", at) for number, (at, _) in enumerate(commands)]
        kept = json.loads((directory / ".types").read_text())
        return {"queue": timeless(directory), "types": kept["types"], "left": kept["left"]}

    first = run("a", steered, "1", 1)
    second = run("b", steered, "2", 37)
    assert first == second
    assert len(first["queue"]) > 1
    other = run("c", [], "1", 1)
    assert other["types"]["app.Size"]["picks"] != first["types"]["app.Size"]["picks"]


# ------------------------------------------------------------ under a supervisor


class Spoton(Supervised):
    """A campaign of the real engine, its targets analysed by mypy."""

    engine = "constants = false\nthird_party = true"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "spoton")
        self.flag = directory / "flag"
        source = directory / "src"
        source.mkdir()
        (source / "app.py").write_text(APP.format(flag=str(self.flag), sleep=0.002))
        (source / "gens.py").write_text(GENERATORS)
        self.target = f'function = "app:run"\ngenerator = "gens:gen_file"\npath = ["{source}"]'

    def figures(self) -> dict[str, ev.TargetingStats]:
        """The last of each instance."""
        found = self.events(ev.TargetingStats)
        return {e.instance: e for e in found if isinstance(e, ev.TargetingStats)}

    def rows(self, name: str) -> dict[str, Any]:
        rows: dict[str, Any] = {}
        for e in self.events(ev.GoalsUncovered):
            if isinstance(e, ev.GoalsUncovered) and e.instance == name:
                rows = {} if e.anew else rows
                for location in e.gone:
                    rows.pop(location)
                rows |= e.left
        return rows

    def kept(self, name: str = "main") -> dict[str, Any]:
        found = json.loads((self.run / "out" / name / ".types").read_text())
        assert isinstance(found, dict)
        return found

    def nanny(self, name: str = "main") -> int:
        return int(json.loads((self.run / "out" / name / "process.json").read_text())["pid"])

    def says(self, words: str) -> int:
        found = self.events(ev.Message)
        return sum(isinstance(e, ev.Message) and words in e.text for e in found)

    def done(self, command: Command) -> str:
        result = self.send(command)
        assert result.ok, result.detail
        return result.detail

    def refused(self, command: Command) -> str:
        result = self.send(command)
        assert not result.ok
        return result.detail


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Spoton]:
    with Spoton(tmp_path) as made:
        yield made


def weights(figures: ev.TargetingStats) -> dict[str, float]:
    return dict(zip(figures.names, figures.weights, strict=True))


@pytest.mark.timeout(600)
def test_what_was_set_outlives_all_that_is_killed(campaign: Spoton) -> None:
    s = campaign
    small, named = f"app.py:{SMALL}:then", f"app.py:{NAMED}:else"
    s.start(instances=2)
    wait_until(lambda: s.figures().keys() == {"main", "s1"})  # after mypy
    wait_until(lambda: s.rows("main").get(small, {}).get("frontier"))
    assert s.rows("main")[small]["types"][0][0] == "app.Size.n"

    assert "app.Size weighs 4" in s.done(WeighType("Size", 4))
    assert "app.File is banned" in s.done(WeighType("app.File", 0))
    assert "80% of the mutations" in s.done(SetTargetedShare(0.8))
    assert f"{small} is pinned: app.Size" in s.done(PinGoal(small))
    assert f"{named} is ignored" in s.done(IgnoreGoal(named))
    assert "one child in each cycle" in s.done(DemoteEntry(0, "main"))
    assert "did you mean app.Size" in s.refused(WeighType("app.Sizes", 1))
    assert f"did you mean {small}" in s.refused(PinGoal(f"app.py:{SMALL}:them"))
    assert f"did you mean {small}" in s.refused(IgnoreGoal(f"app.py:{SMALL}:them"))
    for command in (PinGoal, IgnoreGoal):
        assert "is covered already" in s.refused(command(small.replace("then", "else")))
    assert s.refused(SetTargetedShare(2)).startswith("targeted is 2")

    def in_force() -> bool:
        told = s.figures()
        return all(
            (f.targeted, f.pinned, f.weights[f.names.index("app.Size")]) == (0.8, small, 4.0)
            and weights(f)["app.File"] == 0.0
            and (k["targeted"], k["pinned"], k["types"]["app.Size"]["weight"]) == (0.8, small, 4)
            and k["types"]["app.File"]["weight"] == 0
            and f.ignored == k["ignored"] == [named]
            for f, k in ((told[name], s.kept(name)) for name in ("main", "s1"))
        )

    def demoted() -> int:
        found = s.events(ev.EntryDescribed)
        return sum(isinstance(e, ev.EntryDescribed) and e.steer == "demoted" for e in found)

    wait_until(in_force)
    assert demoted() == 1

    def works(after: int) -> None:
        """It continues, all is in force, and it aims at what was pinned."""
        wait_until(lambda: s.state().instances["main"].stats.execs > after + 100)
        before = s.kept()["types"]
        wait_until(
            lambda: s.kept()["types"]["app.Size"]["picks"] > before["app.Size"]["picks"] + 20
        )
        assert in_force()
        assert s.kept()["types"]["app.File"]["picks"] == before["app.File"]["picks"]

    nanny = s.nanny()
    kill(worker_of(SimpleNamespace(pid=nanny)))  # type: ignore[arg-type]
    wait_until(lambda: s.says("a new worker continues"))
    wait_until(lambda: demoted() == 2)
    works(s.state().instances["main"].stats.execs)

    kill(nanny)
    wait_until(lambda: s.nanny() != nanny)
    wait_until(lambda: demoted() == 3)
    works(s.state().instances["main"].stats.execs)

    s.restart(instances=2)
    works(s.state().instances["main"].stats.execs)
    # The log follows the file.
    wait_until(lambda: s.rows("main").keys() == {row["location"] for row in s.kept()["left"]})

    s.done(Stop("s1"))
    wait_until(lambda: s.state().instances["s1"].state == "stopped")
    s.done(SetTargetedShare(0.9))
    s.done(Stop())
    wait_until(lambda: running(s.run) is None)
    s.start(instances=2)
    # It was told to s1, too, when that began again.
    wait_until(lambda: [s.kept(n)["targeted"] for n in ("main", "s1")] == [0.9, 0.9])
    wait_until(lambda: demoted() == 4)
    assert (s.kept("s1")["pinned"], s.kept("s1")["ignored"]) == (small, [named])

    s.flag.touch()
    wait_until(lambda: s.says(f"{small} was pinned and is covered") == 2)
    wait_until(lambda: {f.pinned for f in s.figures().values()} == {""})
    wait_until(lambda: small not in s.rows("main"))
    assert s.done(PinGoal("")) == "no goal was pinned (2 instances)"
    s.done(Stop())
    wait_until(lambda: running(s.run) is None)
    last = s.figures()["main"]
    assert dict(zip(last.names, last.picks, strict=True)) == {
        name: row["picks"] for name, row in s.kept()["types"].items()
    }
    found = [e for e in s.events(ev.Stats) if isinstance(e, ev.Stats)]
    assert {e.edges_third_party for e in found} == {0}


@pytest.mark.timeout(600)
def test_unpinning_what_undoes_a_demotion_and_a_run_that_was_moved(
    campaign: Spoton, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    s = campaign
    small = f"app.py:{SMALL}:then"
    s.start("engine.constants=true")
    wait_until(lambda: s.rows("main").get(small, {}).get("frontier"))  # after mypy
    s.done(PinGoal(small, "main"))
    wait_until(lambda: s.figures()["main"].pinned == small)
    assert s.done(PinGoal("")) == f"{small} is no longer pinned"
    wait_until(lambda: s.figures()["main"].pinned == "")
    # What is ignored and covered anyway is ignored no more, and nobody is bothered with it.
    s.done(IgnoreGoal(small))
    wait_until(lambda: s.figures()["main"].ignored == [small])
    s.flag.touch()
    wait_until(lambda: s.figures()["main"].ignored == [])
    wait_until(lambda: small not in {row["location"] for row in s.kept()["left"]})
    assert not s.says(small)
    wait_until(lambda: len(s.state().entries) > 1)
    s.done(DemoteEntry(1))
    s.done(SkipEntry(1))
    s.until(lambda state: [e.steer for e in state.entries.values() if e.id == 1] == ["skipped"])
    s.done(DemoteEntry(1))
    s.until(lambda state: [e.steer for e in state.entries.values() if e.id == 1] == ["demoted"])
    assert "there is no queue entry 999999" in s.refused(DemoteEntry(999_999))
    s.done(Stop())
    wait_until(lambda: running(s.run) is None)
    moved = s.run.rename(tmp_path / "moved")
    entry = sorted((moved / "out/main/queue").glob("id:*"))[0]
    assert fuzztui(["repro", str(moved), str(entry)]) == 0
    assert "input: File(name=" in capfd.readouterr().out
