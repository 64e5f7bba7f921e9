"""A campaign of fake engines under a real supervisor, for the tests of supervising."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from homes import kill_holder
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.log.files import tail_name
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.client import ControlClient
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.remote.protocol import CommandAnswer
from fuzztui.kernel.session import LiveClock, Session
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.commands import Command, Stop
from fuzztui.kernel.wire.events import EntryDescribed, EntrySaved, Event, FindingSaved, Record
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run
from fuzztui.run.process.identity import ProcessId, kill_marked, marked
from fuzztui.run.supervise.daemon import start

FAKE = Path(__file__).parents[1] / "helpers/fake_engine.py"


@contextmanager
def rack(directory: Path) -> Iterator[Callable[..., Supervised]]:
    """Makes campaigns, and leaves no process of theirs behind."""
    made: list[Supervised] = []

    def make(**plan: object) -> Supervised:
        place = directory / str(len(made))
        place.mkdir()
        made.append(Supervised(place, **plan))
        return made[-1]

    try:
        yield make
    finally:
        for campaign in made:
            campaign.clean_up()


def busy(state: State) -> bool:
    return state.state == "running" and len(state.entries) >= 5


class Supervised:
    """One run directory of an engine's ``kind``; ``plan`` is :class:`fake_engine.Plan`'s fields."""

    busy = staticmethod(busy)
    target = engine = more = ""
    """Lines of these tables of the campaign file, and tables below them; else the fake engine's."""

    def __init__(self, directory: Path, kind: str = "zest", **plan: object) -> None:
        self.directory = directory
        self.run = directory / "run"
        self.python = directory / "python"
        self.python.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$4"\n')
        self.python.chmod(0o755)
        self.kind, self.plan = kind, plan
        self.file = directory / "c.toml"

    def freeze(self, *overrides: str, instances: int = 1) -> None:
        fake = json.dumps(json.dumps(self.plan))
        target = self.target or (
            f'function = "tomllib:loads"\npython = "{self.python}"\nenv = {{ FAKE = {fake} }}'
        )
        self.file.write_text(
            f"""
[campaign]
name = "test"
output = "{self.run}"
[target]
{target}
[engine]
kind = "{self.kind}"
instances = {instances}
{self.engine}
{self.more}
"""
        )
        self.write_run(overrides)

    def write_run(self, overrides: Iterable[str]) -> None:
        """Make the run directory of the campaign file; its paths start at its folder."""
        prepare_run(self.run)
        write_frozen(load(self.file, [*overrides], cwd=self.directory), self.run)

    def start(self, *overrides: str, instances: int = 1) -> int:
        self.freeze(*overrides, instances=instances)
        return start(self.run)

    def at_work(self, *overrides: str, instances: int = 1) -> Self:
        """Start it, and wait until it has found something. Returns itself."""
        self.start(*overrides, instances=instances)
        self.until(self.busy)
        return self

    def ran(self, *overrides: str, instances: int = 1) -> State:
        """Start it; the state at the end that it comes to by itself."""
        self.start(*overrides, instances=instances)
        return self.over()

    def restart(self, *overrides: str, instances: int = 1) -> int:
        """Kill the supervisor, and start another one."""
        self.kill_supervisor()
        return self.start(*overrides, instances=instances)

    # ------------------------------------------------------------ what is there

    def state(self) -> State:
        session = Session(self.run, LiveClock())
        while session.poll().records:
            pass
        return session.state

    def records(self) -> list[Record]:
        return list(LogReader(self.run).records())

    def events(self, kind: type[Event] = Event) -> list[Event]:
        return [r.event for r in self.records() if isinstance(r.event, kind)]

    def lose_the_end(self, lines: int) -> None:
        """Make the log what it is when its writer is killed so many records before its end."""
        whole = [encode_record(r) for r in LogReader(self.run).records()]
        assert '"campaign_ended"' in whole[-1]
        shutil.rmtree(self.run / "log")
        (self.run / "log").mkdir()
        tail = self.run / "log" / tail_name(1)
        tail.write_text("".join(f"{line}\n" for line in whole[:-lines]))

    def until(self, what: Callable[[State], object]) -> State:
        """Wait for a state of the campaign; returns it."""

        def reached() -> State | None:
            state = self.state()
            return state if what(state) else None

        def seen() -> str:
            return "\n".join([*(str(r) for r in self.records()[-30:]), self.stderr()])

        return wait_until(reached, seen)

    def over(self) -> State:
        """Wait for the end: of the campaign, and of its supervisor."""
        self.until(lambda s: s.state in ("finished", "stopped", "failed"))
        wait_until(lambda: running(self.run) is None)
        return self.state()

    def stderr(self) -> str:
        return (self.run / "supervisor/stderr").read_text()

    def marked(self) -> list[ProcessId]:
        return marked(self.run)

    def check_nothing_lost_or_doubled(self, *instances: str) -> None:
        """Every file and every line of the engines is in the log, once."""
        events = self.events()
        for name in instances or ("main",):
            directory = self.run / "out" / name
            entries = Counter(
                e.file for e in events if isinstance(e, EntrySaved) and e.instance == name
            )
            # An engine that was ended before it had started has made nothing of this.
            assert entries == Counter(f"queue/{p.name}" for p in directory.glob("queue/*"))
            findings = Counter(
                e.file for e in events if isinstance(e, FindingSaved) and e.instance == name
            )
            assert findings == Counter(
                f"{d}/{p.name}" for d in ("crashes", "hangs") for p in directory.glob(f"{d}/*")
            )
            told = directory / "events.jsonl"
            lines = told.read_text().splitlines() if told.exists() else []
            described = [json.loads(x)["id"] for x in lines if '"entry_described"' in x]
            assert described == [
                e.id for e in events if isinstance(e, EntryDescribed) and e.instance == name
            ]
        seqs = [r.seq for r in self.records()]
        assert seqs == list(range(1, len(seqs) + 1))
        times = [r.t for r in self.records()]
        assert times == sorted(times)

    # -------------------------------------------------------------- what is done

    def send(self, command: Command, timeout: float = DEADLINE_S) -> CommandAnswer:
        client = ControlClient(self.run, "test")
        try:
            return client.send(command, timeout)
        finally:
            client.close()

    def stop(self) -> State:
        """Stop the campaign; its state then."""
        assert self.send(Stop(), DEADLINE_S).ok
        return self.over()

    def kill_supervisor(self) -> None:
        assert running(self.run)
        kill_holder(self.run)

    def kill_engines(self) -> None:
        """Kill all of them, and see them gone."""
        while self.marked():
            kill_marked(self.run)

    def go(self, *instances: str) -> None:
        """Open the gate (``gate_at``) at which these wait."""
        for name in instances or ("main",):
            (self.run / "out" / name / "go").touch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clean_up()
        assert not self.marked()

    def clean_up(self) -> None:
        kill_holder(self.run)
        kill_marked(self.run)
