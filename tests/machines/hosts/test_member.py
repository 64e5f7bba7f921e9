"""What a host's log and files become in the hub's: its own names, and nothing outside its place."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import until

from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignState,
    CommandIssued,
    EntrySaved,
    Event,
    ExampleSaved,
    FindingDescribed,
    FindingSaved,
    HostState,
    InputShown,
    InstanceHello,
    LinesCovered,
    Message,
    MutantsFound,
    PassiveInstance,
    Record,
    SourceFile,
)
from fuzztui.machines.hosts import member as module
from fuzztui.machines.hosts import storing
from fuzztui.machines.hosts.link import Batch, Hello, LinkLost, Turns
from fuzztui.machines.hosts.member import HostMember
from fuzztui.machines.hosts.paths import PathsHere
from fuzztui.machines.hosts.room import HubRoom
from fuzztui.run.campaign.places import HostPlace
from fuzztui.run.campaign.rundir import RunDir

KEEP = 1 << 20


class Router:
    def translate(self, host: str, event: Event) -> Event | None:
        return None if isinstance(event, CommandIssued) else event


class Exchange:
    def __init__(self) -> None:
        self.passed: list[tuple[str, str, bytes]] = []

    def elsewhere(self, main: str) -> int:
        return 0

    def found(self, main: str, name: str, data: bytes) -> None:
        self.passed.append((main, name, data))


class Hub:
    """What a member uses of a hub."""

    def __init__(self, tmp_path: Path) -> None:
        self.state = State()
        self.router = Router()
        self.exchange = Exchange()
        self.paths = PathsHere({"tree0-p/a.py": Path("/project/p/a.py")})
        self.hosts = ["a", "b"]
        self.leaving = self.ending = False
        self._writable, self.asked_in_vain = True, 0
        self.budget_raised = False
        self.gathered_s = 0.0
        self.log_name = "log"
        self.log: Any = self
        self.events: list[Event] = []
        self.records: list[Record] = []
        self.turns = Turns()
        self.room = HubRoom(RunDir(tmp_path), [HostPlace("a", "a", 2, keep=KEEP)], {}, print)

    @property
    def writable(self) -> bool:
        self.asked_in_vain += not self._writable
        return self._writable

    @writable.setter
    def writable(self, value: bool) -> None:
        self._writable = value

    def record(self, *events: Event) -> None:
        for event in events:
            self._add(Record(self.state.seq + 1, 0.0, event))

    def log_from_host(self, origin: Record, event: Event) -> None:
        self._add(Record(self.state.seq + 1, 0.0, event, origin.host, origin.seq, origin.t))

    def _add(self, record: Record) -> None:
        self.events.append(record.event)
        self.records.append(record)
        apply(self.state, [record])


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path)


@pytest.fixture
def make_member(hub: Hub, tmp_path: Path) -> Callable[[], HostMember]:
    (tmp_path / "out").mkdir()
    loaded: Any = None
    place = HostPlace("a", "a", 2)
    return lambda: HostMember(hub, loaded, RunDir(tmp_path), place, 0)  # type: ignore[arg-type]


@pytest.fixture
def member(make_member: Callable[[], HostMember]) -> HostMember:
    return make_member()


def take(member: HostMember, *events: Event, files: dict[str, bytes] | None = None) -> None:
    records = [Record(n, float(n), event) for n, event in enumerate(events, 1)]
    asyncio.run(member.arrived(Batch(records, files or {})))


def test_entries_of_the_main_are_stored_and_passed_on(member, hub, tmp_path):
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


def test_entries_are_passed_on_by_their_ids(member, hub, tmp_path):
    names = [f"id:{number:06d},op:x" for number in (2, 0, 1)]
    take(
        member,
        *(EntrySaved("a_main", int(n[3:9]), f"queue/{n}") for n in names),
        files={f"a_main/queue/{n}": n.encode() for n in (*names, "id:000009,not_recorded")},
    )
    assert [name for _, name, _ in hub.exchange.passed] == sorted(names)


CRASH = "crashes/id:000000,sig:06"


def taking_a_crash(member: HostMember) -> asyncio.Task[None]:
    records = [Record(1, 0.0, FindingSaved("a_main", "crash", CRASH))]
    return asyncio.ensure_future(member.arrived(Batch(records, {f"a_main/{CRASH}": b"x"})))


async def test_nothing_is_taken_while_the_disk_here_is_full(member, hub, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FULL_S", 0.01)
    monkeypatch.setattr(storing, "FULL_S", 0.01)
    write, full = storing.replace_bytes, [True]

    def replace_bytes(path: Path, *rest: Any) -> None:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, *rest)

    monkeypatch.setattr(storing, "replace_bytes", replace_bytes)
    taking = taking_a_crash(member)
    await until(lambda: hub.events)
    assert [type(e) for e in hub.events] == [Message]
    full.clear()
    hub.writable = False
    await until(lambda: hub.asked_in_vain > 2)
    assert hub.state.findings == {}
    hub.writable = True
    await taking
    assert list(hub.state.findings) == [f"a_main/{CRASH}"]
    assert (tmp_path / "out/a_main" / CRASH).read_bytes() == b"x"
    assert len(hub.events) == 2


@pytest.mark.parametrize(
    "event",
    [
        HostState("b", "connecting", rewound=0),
        EntrySaved("../../x", 1, "queue/id:000001"),
        EntrySaved("a_main", 1, "queue/../../../x"),
        FindingSaved("a_/../../../etc", "crash", "crashes/passwd"),
        FindingSaved("a_main", "crash", "/etc/passwd"),
        EntrySaved("a_main", 1, "/secret"),
        FindingSaved("a_main", "crash", "/secret"),
        FindingSaved("a_main", "crash", "crashes/"),
        FindingSaved("a_main", "crash", "./x"),
        FindingSaved("a_main", "crash", "crashes/x\0"),
        FindingDescribed("a_main", "crash", "/secret"),
        ExampleSaved("a_main", "/secret"),
        InputShown("a_main", "/secret"),
    ],
)
def test_events_that_no_host_has_are_left_out(member, hub, event):
    take(member, event, Message("info", "next"))
    assert [type(r.event) for r in hub.records if r.host] == [Message]
    assert set(hub.state.hosts) == {"a"}
    assert not hub.state.findings
    assert not hub.state.entries


def test_a_record_that_comes_again_is_left_out(member, hub):
    for _ in range(2):
        take(member, Message("info", "one"))
    assert len(hub.events) == 1


def test_no_directory_of_this_machine_is_a_host_s(member, hub):
    take(member, InstanceHello("a_main", "zest", [], "1", directory="/etc"))
    assert hub.state.instances["a_main"].directory == ""


async def test_a_supervisor_that_ended_is_not_started_before_its_log_is_read(member, monkeypatch):
    starts: list[int] = []

    async def start() -> None:
        starts.append(member._read_upto)

    monkeypatch.setattr(member, "_start", start)
    await member.arrived(Batch([Record(1, 0.0, Message("info", "one"))]))
    for _ in range(5):
        member.pong(None, "", 3)
    await asyncio.sleep(0)
    assert starts == []
    await member.arrived(Batch([Record(n, 0.0, Message("info", "x")) for n in (2, 3)]))
    await asyncio.sleep(0)
    assert starts == [3]


@pytest.mark.parametrize(
    "path",
    [
        "../campaign.toml", "a_main/../x", "a_main/crashes/../../x", "a_main/crashes/.x",
        "a_main/events.jsonl", "a_main/queue", "/etc/x", "a_main/queue/x\0", "a_s1/queue/id:000000",
        "a_main/crashes/" + "x" * 300, "", "a_main//x",
    ],
)  # fmt: skip
def test_no_file_is_stored_elsewhere(member, hub, tmp_path, path):
    take(member, files={path: b"bad"})
    stored = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert stored == []
    assert [type(e) for e in hub.events] == [Message]
    take(member, files={path: b"bad"})
    assert len(hub.events) == 1  # only the first is reported


def test_another_hosts_names_are_not_taken(member, hub, tmp_path):
    take(
        member,
        FindingSaved("b_main", "crash", "crashes/id:000000"),
        files={"b_main/crashes/id:000000": b"x"},
    )
    assert list(hub.state.findings) == ["a_b_main/crashes/id:000000"]
    assert not (tmp_path / "out/b_main").exists()


def test_passive_instances_of_a_host_get_its_name(member, hub):
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


def test_positions_follow_the_hosts_numbers(member, hub):
    take(member, Message("info", "one"), CommandIssued("log.c1"), Message("info", "three"))
    assert hub.state.hosts["a"].seq == 3
    assert [e.text for e in hub.events if isinstance(e, Message)] == ["one", "three"]


def hello(last: int, boot: str = "one", hub: str = "log") -> Hello:
    return Hello("a", "1", "3", "/r", last, 1.0, boot, hub, 1, 0.0)


@pytest.mark.parametrize(("last", "whose"), [(0, "other"), (3, "other"), (3, "")])
async def test_a_run_of_another_hub_is_left_alone(member, hub, last, whose):
    assert await member.connected(hello(last, hub=whose)) is None
    assert hub.state.hosts["a"].state == member.campaign_state == "failed"


@pytest.mark.parametrize(("lost", "after"), [(0, 3), (1, 2)])
def test_a_host_that_was_lost_for_long_is_followed_from_its_last_record(
    member: HostMember, hub: Hub, monkeypatch: pytest.MonkeyPatch, lost: int, after: int
) -> None:
    monkeypatch.setattr("fuzztui.machines.hosts.member.COMPARED", 4)
    there = [[n, n * 1.5] for n in range(1, 4)]
    writer = LogWriter(member._run_dir.log)
    hub.record(HostState("a", "connected", boot="one"))
    for seq, t in there:
        origin = Record(int(seq), t, Message("info", "x"), "a")
        writer.append(origin.event, 0.0, origin)
        hub.log_from_host(origin, origin.event)
    for n in range(50):
        writer.append(Message("info", f"of another host {n}"), 1.0)
    writer.close()
    if lost:  # another record is in the place of the last one
        there[-1] = [3, 99.0]

    async def ask(what: str, **fields: Any) -> dict[str, Any]:
        return {"stamps": [row for row in there if row[0] > fields["after"]]}

    monkeypatch.setattr(member.link, "ask", ask)
    assert asyncio.run(member._position(hello(3, "two"))) == after
    assert hub.state.hosts["a"].seq == after


def test_an_interpreter_may_be_in_the_root_directory():
    assert PathsHere({}, "/python3").here("/etc/passwd", "a") == "a:/etc/passwd"


def about_file(path: str, lines: dict[str, str], frames: list[Any]) -> list[Event]:
    """An event of each kind that names files."""
    main = "a_main"
    return [
        SourceFile(main, path, "a", "aa", "1-9"),
        LinesCovered(main, 1, lines, {path: "0"}),
        MutantsFound(main, "a", "a.py", path, [{"id": "m", "line": 1}]),
        FindingDescribed(main, "crash", "crashes/id:000000", frames=frames),
    ]


def test_files_that_were_sent_there_have_their_paths_here(member, hub):
    there, other = "/data/shipped/run/shipped/tree0-p/a.py", "/usr/lib/shipped/b.py"  # installed
    frames: list[Any] = [{"function": "f", "file": there, "line": 3}, {"file": other}]
    take(member, *about_file(there, {there: "1-2", other: "1"}, frames))
    here = "/project/p/a.py"
    frames_here = [{"function": "f", "file": here, "line": 3}, *frames[1:]]
    assert hub.events[-4:] == about_file(here, {here: "1-2", other: "1"}, frames_here)


@pytest.mark.parametrize(
    "secret",
    [
        "/home/user/.ssh/keys.py",
        "/project/p/../../etc/x.py",
        "/usr/../etc/x.py",
        "x/../../y.py",
        "/etc",
    ],
)
def test_other_files_are_not_those_of_this_machine(member, hub, secret):
    """Screens and reports would show them."""
    take(member, *about_file(secret, {secret: "1-2"}, [{"file": secret}]))
    away = f"a:{secret}"
    assert hub.events[-4:] == about_file(away, {away: "1-2"}, [{"file": away}])


@pytest.mark.parametrize("elsewhere", [0, 90_000])
def test_an_id_may_leave_out_only_what_its_host_has_imported(member, hub, monkeypatch, elsewhere):
    monkeypatch.setattr(member._inputs, "_elsewhere", lambda main: elsewhere)
    monkeypatch.setattr(
        "fuzztui.machines.hosts.entries.replace_bytes", lambda path, *_: made.append(path)
    )
    made: list[Path] = []
    name = "id:000090000,gap"
    take(
        member, EntrySaved("a_main", 90_000, f"queue/{name}"), files={f"a_main/queue/{name}": b"x"}
    )
    assert len(made) == (90_001 if elsewhere else 0)


async def test_a_host_that_cannot_say_what_it_has_is_not_relayed_again(member, hub, monkeypatch):
    hub.record(HostState("a", "connected", boot="one"))
    take_ = Message("info", "x")
    hub.log_from_host(Record(3, 1.0, take_, "a"), take_)

    async def ask(what: str, **fields: Any) -> dict[str, Any]:
        return {"error": "the disk does not answer"}

    monkeypatch.setattr(member.link, "ask", ask)
    with pytest.raises(LinkLost):
        await member._position(hello(3, "two"))
    assert hub.state.hosts["a"].seq == 3
    assert await member._position(hello(0, "two")) == 0  # the log over there was deleted


def shipping(member: HostMember, monkeypatch: pytest.MonkeyPatch, ask: Any, ship: Any) -> None:
    """Start with these questions to the host, and this way of sending files there."""
    monkeypatch.setattr(member.link, "ask", ask)
    monkeypatch.setattr(module, "ship", ship)
    monkeypatch.setattr(member, "_shipment", lambda: SimpleNamespace(campaign_text=""))


def runs(hub: Hub) -> None:
    event = CampaignState("running")
    hub.log_from_host(Record(1, 1.0, event, "a"), event)


@pytest.mark.parametrize("ran", [True, False])
async def test_a_host_that_ran_and_cannot_be_started_now_is_tried_again(
    member: HostMember, hub: Hub, monkeypatch: pytest.MonkeyPatch, ran: bool
) -> None:
    monkeypatch.setattr(module, "ATTEMPTS", 2)
    asked: list[str] = []

    async def ask(what: str, **fields: Any) -> dict[str, Any]:
        asked.append(what)
        return {"error": "No space left on device"}

    async def ship(*_: Any) -> None:
        pass

    shipping(member, monkeypatch, ask, ship)
    if ran:
        runs(hub)
    await member._start()
    assert (member.campaign_state == "failed") is not ran
    if ran:
        for _ in range(round(module.AGAIN_S / module.PING_S) - 1):
            member.pong(None, "", 0)
        await asyncio.sleep(0)
        assert len(asked) == 1
        member.pong(None, "", 0)
        await asyncio.gather(*member._tasks)
        assert len(asked) == 2
        await member._start()
        assert member.campaign_state == "failed"


@pytest.mark.parametrize("when", ["before", "while sending"])
@pytest.mark.parametrize("ran", [True, False])
async def test_a_campaign_that_is_stopped_before_it_began_on_a_host_has_ended_there(
    member: HostMember, hub: Hub, monkeypatch: pytest.MonkeyPatch, when: str, ran: bool
) -> None:
    asked: list[str] = []

    async def ask(what: str, **fields: Any) -> dict[str, Any]:
        asked.append(what)
        return {}

    async def ship(*_: Any) -> None:
        hub.leaving = hub.ending = True

    shipping(member, monkeypatch, ask, ship)
    if ran:
        runs(hub)
    if when == "before":
        await ship()
    await member._start()
    assert not asked
    assert member._over.is_set() is not ran
    assert member.campaign_state == ("running" if ran else "stopped")


@pytest.mark.parametrize("raised", [True, False])
async def test_a_host_that_ran_while_the_budget_was_raised_goes_on(
    hub, make_member, monkeypatch, raised
):
    hub.budget_raised = raised
    member = make_member()
    starts: list[str] = []

    async def start() -> None:
        starts.append(member.campaign_state)

    monkeypatch.setattr(member, "_start", start)
    for seq in (1, 2):
        await member.arrived(Batch([Record(seq, 1.0, CampaignEnded("finished", "budget"))]))
        await asyncio.sleep(0)
        assert member._over.is_set() is (seq == 2 or not raised)
    assert starts == ([""] if raised else [])


def test_a_host_beyond_its_limit_is_given_up_without_its_records(member, hub, tmp_path):
    files = {f"a_main/crashes/id:{number:06d}": b"x" * (KEEP // 2) for number in range(5)}
    take(member, Message("info", "one"), files=files)
    assert member.campaign_state == "failed"
    assert hub.state.hosts["a"].state == "failed"
    # What follows the last record that was taken comes again, with its files.
    assert hub.state.hosts["a"].seq == 0
    assert 1 <= len(list((tmp_path / "out/a_main/crashes").iterdir())) <= 2
    take(member, Message("info", "two"))
    assert [type(e) for e in hub.events] == [HostState]


async def test_nothing_is_taken_while_the_disk_here_is_nearly_full(
    member: HostMember, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nearly(str):
        """Counts how often the member asks."""

        looks = 0

        def __bool__(self) -> bool:
            Nearly.looks += 1
            return True

    monkeypatch.setattr(module, "FULL_S", 0.01)
    hub.room.full = Nearly("nearly")
    taking = taking_a_crash(member)
    await until(lambda: Nearly.looks > 3)
    assert not hub.events
    assert not (tmp_path / "out/a_main").exists()
    hub.room.full = ""
    await taking
    assert list(hub.state.findings) == [f"a_main/{CRASH}"]
    assert (tmp_path / "out/a_main" / CRASH).read_bytes() == b"x"


def test_a_file_that_comes_again_counts_once(member, hub):
    for _ in range(20):
        take(member, files={"a_main/.unsafe": b"x" * (KEEP // 4)})
    assert hub.room.excess("a") == ""
    assert member.campaign_state != "failed"
