"""What a host's log and files become in the hub's: its own names, and nothing outside its place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fuzztui.campaign.rundir import RunDir
from fuzztui.hosts.link import Batch
from fuzztui.hosts.member import HostMember
from fuzztui.hosts.place import HostPlace
from fuzztui.model.fold import apply
from fuzztui.model.state import State
from fuzztui.wire.events import (
    CommandIssued,
    EntrySaved,
    Event,
    FindingSaved,
    Message,
    PassiveInstance,
    Record,
)


class Router:
    def translate(self, host: str, event: Event) -> Event | None:
        return None if isinstance(event, CommandIssued) else event


class Exchange:
    def __init__(self) -> None:
        self.passed: list[tuple[str, str, bytes]] = []

    def found(self, main: str, name: str, data: bytes) -> None:
        self.passed.append((main, name, data))


class Hub:
    """What a member uses of a hub."""

    def __init__(self) -> None:
        self.state = State()
        self.router = Router()
        self.exchange = Exchange()
        self.hosts = ["a", "b"]
        self.leaving = False
        self.log_name = "log"
        self.events: list[Event] = []

    def record(self, *events: Event) -> None:
        for event in events:
            self._add(Record(self.state.seq + 1, 0.0, event))

    def relay(self, origin: Record, event: Event) -> None:
        self._add(Record(self.state.seq + 1, 0.0, event, origin.host, origin.seq, origin.t))

    def _add(self, record: Record) -> None:
        self.events.append(record.event)
        apply(self.state, [record])


@pytest.fixture
def hub() -> Hub:
    return Hub()


@pytest.fixture
def member(hub: Hub, tmp_path: Path) -> HostMember:
    (tmp_path / "out").mkdir()
    loaded: Any = None
    return HostMember(hub, loaded, RunDir(tmp_path), HostPlace("a", "a", 2), 0)  # type: ignore[arg-type]


def take(member: HostMember, *events: Event, files: dict[str, bytes] | None = None) -> None:
    records = [Record(n, float(n), event) for n, event in enumerate(events, 1)]
    asyncio.run(member.arrived(Batch(records, files or {})))


def test_entries_of_the_main_are_stored_and_passed_on(
    member: HostMember, hub: Hub, tmp_path: Path
) -> None:
    name = "id:000003,src:000000,time:9,execs:1,op:havoc"
    take(
        member,
        EntrySaved("a_main", 3, f"queue/{name}"),
        files={f"a_main/queue/{name}": b"x", "a_main/.unsafe": b"k\n"},
    )
    assert (tmp_path / "out/a_main/queue" / name).read_bytes() == b"x"
    assert (tmp_path / "out/a_main/.unsafe").read_bytes() == b"k\n"
    assert hub.exchange.passed == [("a_main", name, b"x")]
    # afl-fuzz imports the next id only: none may be missing
    assert len(list((tmp_path / "out/a_main/queue").iterdir())) == 4


@pytest.mark.parametrize(
    "path",
    [
        "../campaign.toml", "a_main/../x", "a_main/crashes/../../x", "a_main/crashes/.x",
        "a_main/events.jsonl", "a_main/queue", "/etc/x", "a_main/queue/x\0", "a_s1/queue/id:000000",
        "a_main/crashes/" + "x" * 300, "", "a_main//x",
    ],
)  # fmt: skip
def test_no_file_is_stored_elsewhere(
    member: HostMember, hub: Hub, tmp_path: Path, path: str
) -> None:
    take(member, files={path: b"bad"})
    stored = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert stored == []
    assert [type(e) for e in hub.events] == [Message]
    take(member, files={path: b"bad"})
    assert len(hub.events) == 1  # only the first is reported


def test_another_hosts_names_are_not_taken(member: HostMember, hub: Hub, tmp_path: Path) -> None:
    take(
        member,
        FindingSaved("b_main", "crash", "crashes/id:000000"),
        files={"b_main/crashes/id:000000": b"x"},
    )
    assert list(hub.state.findings) == ["a_b_main/crashes/id:000000"]
    assert not (tmp_path / "out/b_main").exists()


def test_passive_instances_of_a_host_get_its_name(member: HostMember, hub: Hub) -> None:
    take(
        member,
        PassiveInstance("b_main", "another host"),
        PassiveInstance("hub_added", "another host"),
        FindingSaved("oracle", "crash", "crashes/id:000000"),
        EntrySaved("a_main", 1, "queue/id:000001", sync="handed"),
        EntrySaved("a_main", 2, "queue/id:000002", sync="b_main"),
    )
    assert set(hub.state.instances) == {"a_oracle", "a_main"}
    assert hub.state.instances["a_oracle"].passive
    assert hub.state.entries["a_main/1"].sync == "a_handed"
    assert hub.state.entries["a_main/2"].sync == "b_main"


def test_positions_follow_the_hosts_numbers(member: HostMember, hub: Hub) -> None:
    take(member, Message("info", "one"), CommandIssued("log.c1"), Message("info", "three"))
    assert hub.state.hosts["a"].seq == 3
    assert [e.text for e in hub.events if isinstance(e, Message)] == ["one", "three"]
