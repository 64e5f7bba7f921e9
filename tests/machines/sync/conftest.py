"""Runs with a queue and a state, which need no engine."""

from pathlib import Path

import pytest

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import (
    CampaignStarted,
    EntrySaved,
    FindingSaved,
    PassiveInstance,
    Record,
)
from fuzztui.machines.sync.exchange import DirectoryExchange
from fuzztui.machines.sync.names import tag_of
from fuzztui.machines.sync.peers import About
from fuzztui.run.campaign.rundir import RunDir, prepare_run


class Machine:
    """One machine with one run."""

    def __init__(self, path: Path, host: str, shared: Path, **about: str) -> None:
        prepare_run(path)
        self.run, self.shared, self.host = RunDir(path), shared, host
        self.state = State()
        self.tag = tag_of(path, 1e9)
        self.about = About(**{"engine": "zest", "target": "m:f", **about}, host=host, run=self.tag)
        self.record(CampaignStarted("c", "zest", instances=["main", "s1"], wall=1e9))
        self.exchange = self.again()

    def again(self) -> DirectoryExchange:
        """As the next ``fuzztui sync`` of this run."""
        self.exchange = DirectoryExchange(
            self.run, self.shared, self.host, self.about, lambda what, done, of: None
        )
        return self.exchange

    def record(self, event) -> None:
        apply(self.state, [Record(self.state.seq + 1, self.state.seq + 1.0, event)])

    def find(self, number: int, data: bytes, *, sync: str = "", instance: str = "main") -> Path:
        tail = f"sync:{sync},src:000001" if sync else "src:000000,time:1,execs:2,op:havoc,rep:2"
        return self.save(instance, f"queue/id:{number:06d},{tail}", data, number, sync)

    def save(self, instance: str, file: str, data: bytes, number: int, sync: str = "") -> Path:
        path = self.run.instance(instance) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.record(EntrySaved(instance, number, file, op="havoc,rep:2", sync=sync))
        return path

    def crash(self, name: str, data: bytes, instance: str = "main") -> None:
        path = self.run.instance(instance) / "crashes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.record(FindingSaved(instance, "crash", f"crashes/{name}"))

    def passive(self, name: str) -> None:
        self.record(PassiveInstance(name, "elsewhere", 1))

    def sync(self, **options):
        return self.exchange.sync(self.state, **options)

    def shows(self) -> dict[str, bytes]:
        """The entries in this machine's part of the shared directory, by name."""
        return contents(self.exchange.mine / "queue")

    def has(self, passive: str) -> list[bytes]:
        """The entries of one of its passive instances, by id."""
        return list(contents(self.run.instance(passive) / "queue").values())


def contents(queue: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(queue.iterdir())}


@pytest.fixture
def shared(tmp_path):
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.fixture
def machines(tmp_path, shared):
    def make(host: str, directory: Path | None = None, **about: str) -> Machine:
        return Machine(tmp_path / "runs" / host, host, directory or shared, **about)

    return make


@pytest.fixture
def a(machines):
    return machines("a")


@pytest.fixture
def b(machines):
    return machines("b")


@pytest.fixture
def c(machines):
    return machines("c")
