"""One pass of a sync: what is pushed, what is pulled, and what others cannot spoil."""

import json
import os
import shutil
import struct

import pytest
from lab_clock import aged

from fuzztui.engines.directory.rescue import Unsafe
from fuzztui.engines.directory.store import entry_ids
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import CampaignStarted, EntrySaved, Record
from fuzztui.machines.sync import peers as peers_module
from fuzztui.machines.sync.exchange import SyncError, mains_of, only_one
from fuzztui.machines.sync.names import check_own, default_name, digest, parse_shared
from fuzztui.machines.sync.peers import (
    DAMAGED,
    LARGE,
    MALFORMED,
    UNFINISHED,
    UNREADABLE,
    UNSAFE_ENTRIES,
)
from fuzztui.run.observe.passive import MARK, make_passive, source_of


def by_hand(shared, name, *entries, age=60):
    """The queue of an afl-fuzz that somebody started in the shared directory."""
    queue = shared / name / "queue"
    queue.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(entries):
        file = queue / f"id:{number:06d},src:000000,time:1,execs:1,op:havoc,rep:1"
        file.write_bytes(data)
        aged(file, age)
    return queue


def imported(fuzzer, count):
    """It has imported so many entries of a_main."""
    (fuzzer / ".synced").mkdir(parents=True)
    (fuzzer / ".synced/a_main").write_bytes(struct.pack("<I", count))


# ------------------------------------------------------------------ both ways


def test_finds_travel_both_ways_and_only_once(a, b):
    a.find(0, b"seed")
    a.find(1, b"only a")
    b.find(0, b"seed")
    b.find(1, b"only b")
    assert a.sync().pushed == 2
    first = b.sync()
    assert (first.pushed, first.pulled, first.peers) == (1, {"a_main": 1}, 1)
    assert a.sync().pulled == {"b_main": 1}
    assert (a.has("b_main"), b.has("a_main")) == ([b"only b"], [b"only a"])
    for machine in (a, b, a.again() and a, b.again() and b):
        again = machine.sync()
        assert (again.pushed, again.pulled) == (0, {})
    assert source_of(str(a.run.out / "b_main")) == str(a.shared / "b_main")


def test_what_came_from_outside_is_not_pushed_but_what_secondaries_found_is(a):
    a.passive("b_main")
    make_passive(a.run.out / "hub_main", "a hub")
    a.find(0, b"from b", sync="b_main")
    a.find(1, b"from the hub", sync="hub_main")
    a.find(2, b"from s1", sync="s1")
    a.find(3, b"an added seed", sync="added")
    a.find(9, b"of s1 itself", instance="s1")
    a.sync()
    assert list(a.shows().values()) == [b"from s1", b"an added seed"]


@pytest.mark.parametrize("first", ["main", "master"])
def test_the_first_instance_is_the_main_one_whatever_its_name(first):
    state = State()
    apply(state, [Record(1, 0.0, CampaignStarted("c", "afl", "t", instances=[first, "b", "a"]))])
    assert mains_of(state) == [first]


def test_a_third_machine_gets_each_entry_once(a, b, c):
    a.find(0, b"x")
    a.sync()
    b.sync()
    b.find(0, b"x", sync="a_main")
    b.find(1, b"y")
    b.sync()
    assert c.sync().pulled == {"a_main": 1, "b_main": 1}
    assert (c.has("a_main"), c.has("b_main")) == ([b"x"], [b"y"])


def test_an_entry_that_was_renumbered_or_trimmed_is_not_pushed_again(a):
    path = a.find(4, b"long entry")
    a.sync()
    path.write_bytes(b"long")
    result = a.sync()
    assert (result.pushed, result.pulled) == (0, {})
    # afl-fuzz numbers its queue anew when it is resumed.
    path.unlink()
    new = "queue/id:000002,time:0,execs:0,orig:id:000004,src:000000,time:1,execs:2,op:havoc"
    (a.run.instance("main") / new).write_bytes(b"long")
    a.state.entries.clear()
    a.record(EntrySaved("main", 2, new, op="havoc", first=4))
    assert a.again().sync(a.state).pushed == 0
    assert list(a.shows().values()) == [b"long entry"]


def test_a_later_run_with_the_same_name_gets_what_an_earlier_one_has_left(machines, tmp_path):
    a = machines("ci")
    a.find(0, b"seed")
    a.find(1, b"found")
    a.sync()
    shutil.rmtree(a.run.path)
    later = type(a)(tmp_path / "runs/later", "ci", a.shared)
    later.find(0, b"seed")
    result = later.sync()
    assert (result.pushed, result.pulled) == (0, {"ci_main": 1})
    assert later.has("ci_main") == [b"found"]
    later.find(1, b"new")
    later.sync()
    assert sorted(entry_ids(a.shared / "ci_main/queue")) == [0, 1, 2]


# ------------------------------------------------------------------ ids


def test_ids_have_no_gaps_and_are_never_given_twice(a):
    for n in range(0, 9, 3):
        a.find(n, bytes([65 + n]))
    a.sync()
    assert sorted(entry_ids(a.exchange.mine / "queue")) == [0, 1, 2]
    names = sorted(a.shows())
    (a.exchange.mine / "queue" / names[1]).unlink()  # somebody cleans up
    a.find(20, b"new")
    a.sync()
    ids = entry_ids(a.exchange.mine / "queue")
    assert sorted(ids) == [0, 1, 2, 3, 4]
    assert ids[1].endswith(",gone")
    assert [a.shows()[ids[n]] for n in (1, 3, 4)] == [b"", b"D", b"new"]


def test_ids_that_a_fuzzer_has_imported_are_not_used_again(a, shared):
    a.find(0, b"0")
    a.find(1, b"1")
    a.sync()
    by_hand(shared, "hand")
    imported(shared / "hand", 2)
    shutil.rmtree(shared / "a_main")
    assert a.again().sync(a.state).pushed == 2
    assert [parse_shared(n).id for n, data in a.shows().items() if data] == [2, 3]
    assert sorted(entry_ids(a.exchange.mine / "queue")) == [0, 1, 2, 3]


def test_a_passive_instance_that_was_deleted_goes_on_after_what_was_imported(a, b):
    a.find(0, b"0")
    a.sync()
    b.sync()
    imported(b.run.out / "main", 1)
    shutil.rmtree(b.run.out / "a_main")
    b.again().sync(b.state)
    assert b.has("a_main") == [b"", b"0"]


@pytest.mark.parametrize("number", [4294967295, 99999999])
def test_an_absurd_id_fills_no_disk(a, shared, number):
    a.find(0, b"0")
    a.sync()
    (a.exchange.mine / f"queue/id:{number},x").write_bytes(b"x")
    by_hand(shared, "hand")
    imported(shared / "hand", 4294967295)
    a.sync()
    assert len(a.shows()) == 2


# ------------------------------------------------------------------ unsafe


def test_entries_that_kill_workers_travel_as_such(a, b, c):
    a.find(0, b"fine")
    a.find(1, b"kills")
    b.sync()
    a.sync()
    b.sync()  # before anyone knew
    Unsafe(a.run.instance("main")).add(1)
    assert a.sync().unsafe == 1
    b.sync()
    result = c.sync()
    assert b.has("a_main") == [b"fine", b"kills"]
    assert Unsafe(b.run.out / "a_main").load() == {1}
    assert c.has("a_main") == [b"fine"]
    assert result.skipped == {"a_main": {UNSAFE_ENTRIES: 1}}
    assert Unsafe(a.exchange.mine).load() == {1}
    assert a.sync().unsafe == 0


def test_an_unsafe_entry_is_marked_before_it_is_there(a, monkeypatch):
    a.find(0, b"kills")
    Unsafe(a.run.instance("main")).add(0)
    monkeypatch.setattr("fuzztui.machines.sync.queues.QueueWriter.put", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        a.sync()
    assert Unsafe(a.exchange.mine).load() == {0}
    assert a.shows() == {}


# ------------------------------------------------------------------ crashes


def test_crashes_of_all_own_instances_are_pushed_once(a):
    a.crash("id:000000,sig:06,op:x", b"boom")
    a.crash("id:000000,sig:11", b"boom 2", "s1")
    a.crash("id:000001,sig:11", b"boom", "s1")
    assert a.sync().crashes == 2
    assert a.again().sync(a.state).crashes == 0
    pushed = sorted(p.read_bytes() for p in (a.exchange.mine / "crashes").iterdir())
    assert pushed == [b"boom", b"boom 2"]


# ------------------------------------------------------------------ strangers


def test_an_afl_fuzz_by_hand_joins_without_more(a, shared):
    by_hand(shared, "hand", b"one", b"two")
    assert a.sync().pulled == {"hand": 2}
    assert a.has("hand") == [b"one", b"two"]
    assert a.sync().pulled == {}


def test_hostile_files_of_others_are_left_where_they_are(a, shared, tmp_path):
    queue = by_hand(shared, "hand", b"fine")
    (tmp_path / "secret").write_text("secret")
    (queue / "id:000001,link").symlink_to(tmp_path / "secret")
    os.mkfifo(queue / "id:000002,fifo")
    (queue / "id:000003,dir").mkdir()
    with (queue / "id:000004,huge").open("wb") as file:
        file.truncate(1 << 40)
    (queue / "id:000005,empty").touch()
    (queue / ".id:000006,dot").write_bytes(b"dot")
    (queue / "noname").write_bytes(b"x")
    (queue / "id:7,short").write_bytes(b"x")
    for name in queue.iterdir():
        os.utime(name, (1e9, 1e9), follow_symlinks=False)
    result = a.sync()
    assert a.has("hand") == [b"fine"]
    assert result.skipped["hand"] == {UNREADABLE: 3, LARGE: 1, MALFORMED: 2}


@pytest.mark.parametrize("peer", [".hidden", "a b", "x\n", "-x", "é", "n" * 101])
def test_directories_with_other_names_are_no_peers(a, shared, peer):
    by_hand(shared, peer, b"x")
    (shared / "link").symlink_to(shared / peer)
    assert a.sync().pulled == {}
    assert sorted(p.name for p in a.run.out.iterdir()) == []


def test_half_written_files_wait(a, shared):
    queue = by_hand(shared, "hand", b"young", age=0)
    content = digest(b"whole")
    (shared / "b_main/queue").mkdir(parents=True)
    half = shared / f"b_main/queue/id:000000,sum:{content}"
    half.write_bytes(b"who")
    result = a.sync()
    assert result.pulled == {}
    assert result.skipped == {"b_main": {DAMAGED: 1}, "hand": {UNFINISHED: 1}}
    half.write_bytes(b"whole")
    os.utime(queue / next(iter(entry_ids(queue).values())), (1e9, 1e9))
    assert a.sync().pulled == {"b_main": 1, "hand": 1}


def test_a_file_that_changes_while_it_is_read_waits(a, shared, monkeypatch):
    by_hand(shared, "hand", b"abc")
    real = peers_module.open_regular

    def growing(path):
        fd = real(path)
        with path.open("ab") as file:
            file.write(b"more")
        return fd

    monkeypatch.setattr(peers_module, "open_regular", growing)
    assert a.sync().skipped == {"hand": {UNFINISHED: 1}}


@pytest.mark.parametrize("about", [b"[]", b"\xff", b"[" * 4000, b'{"engine": 7}', b""])
def test_what_a_peer_says_about_itself_may_be_anything(a, shared, about):
    by_hand(shared, "hand", b"x")
    (shared / "hand/.fuzztui.json").write_bytes(about)
    a.sync()


@pytest.mark.parametrize(
    "other", [{"engine": "afl", "target": ""}, {"target": "m:g"}, {"constants": "77"}]
)
def test_a_run_of_another_campaign_is_not_imported(machines, other):
    a, b = machines("a"), machines("b", **other)
    a.find(0, b"x")
    b.find(0, b"y")
    b.sync()
    result = a.sync()
    assert (list(result.others), result.pulled) == (["b_main"], {})


def test_names_that_are_taken_in_the_run_get_a_number(a, shared):
    by_hand(shared, "main", b"of a stranger called main")
    make_passive(a.run.out / "hand", "a hub")
    by_hand(shared, "hand", b"h")
    (a.run.out / "fuzzer").mkdir()
    by_hand(shared, "fuzzer", b"f")
    a.sync()
    assert a.has("main-2") == [b"of a stranger called main"]
    assert (a.has("hand-2"), a.has("fuzzer-2")) == ([b"h"], [b"f"])
    assert not (a.run.out / "fuzzer" / MARK).exists()


# ------------------------------------------------------------------ accidents


def test_a_full_disk_leaves_nothing_half(a, monkeypatch):
    a.find(0, b"0")
    a.find(1, b"1" * 100)
    real = os.write

    def full(fd, data):
        if len(data) == 100:
            real(fd, bytes(data)[:40])
            raise OSError(28, "No space left on device", "there")
        return real(fd, data)

    monkeypatch.setattr("fuzztui.kernel.base.atomic.os.write", full)
    with pytest.raises(OSError, match="No space"):
        a.sync()
    assert a.shows() == {}
    left = {p.name for p in a.exchange.mine.iterdir()}
    assert left == {".fuzztui.json", ".lock", "crashes", "queue"}
    monkeypatch.undo()
    assert a.sync().pushed == 2


def test_a_directory_that_is_gone_is_not_made_again(a, shared):
    a.find(0, b"0")
    a.sync()
    shared.rename(shared.with_name("away"))
    with pytest.raises(SyncError, match="not mounted"):
        a.sync()
    assert not shared.exists()
    shared.with_name("away").rename(shared)
    assert a.sync().pushed == 0


def test_it_is_deleted_in_the_middle(a, shared, monkeypatch):
    a.find(0, b"0")
    a.find(1, b"1")
    a.exchange._progress = lambda what, done, of: done == 1 and shutil.rmtree(shared)
    with pytest.raises(OSError):
        a.sync()
    a.again()
    shared.mkdir()
    assert a.sync().pushed == 2


def test_one_sync_of_a_run_at_a_time(a):
    another = pytest.raises(SyncError, match="another 'fuzztui sync' of this run")
    with only_one(a.run), another, only_one(a.run):
        pass


def test_a_name_that_another_machine_uses_now_is_refused(a, tmp_path, shared):
    a.sync()
    other = type(a)(tmp_path / "other", "a", shared)
    other.about = other.about.__class__(engine="zest", target="m:f", host="else", run=other.tag)
    with pytest.raises(SyncError, match="give this run another --name"):
        other.again().sync(other.state)
    aged(shared / "a_main/.fuzztui.json", 3600)
    other.sync()
    assert json.loads((shared / "a_main/.fuzztui.json").read_text())["host"] == "else"


def test_files_are_as_open_as_the_directory(a, shared):
    shared.chmod(0o750)
    a.find(0, b"0")
    a.sync()
    (file,) = (shared / "a_main/queue").iterdir()
    assert file.stat().st_mode & 0o777 == 0o640
    assert (shared / "a_main").stat().st_mode & 0o777 == 0o750


def test_dropped_entries_keep_their_names(a, b):
    for n in range(3):
        a.find(n, bytes([n + 65]))
    a.sync()
    assert a.exchange.drop({digest(b"B"), digest(b"unknown")}) == 1
    assert list(a.shows().values()) == [b"A", b"", b"C"]
    assert a.sync().pushed == 0
    b.find(0, b"B")
    assert b.sync().pulled == {"a_main": 2}
    assert list(b.shows().values()) == []


@pytest.mark.parametrize("name", ["", "-a", "_a", "a/b", "a.b", "é", "a" * 41, "a b"])
def test_names_that_afl_fuzz_would_refuse(name):
    assert check_own(name)


def test_the_default_name_is_one(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "-böx_" + "y" * 200 + ".example.org")
    assert check_own(default_name("12345678")) == ""
    monkeypatch.setattr("socket.gethostname", lambda: "...")
    assert default_name("12345678") == "host-12345678"


def test_a_late_pass_only_pushes(a, b):
    b.find(0, b"b")
    b.sync()
    a.find(0, b"a")
    result = a.sync(pull=False)
    assert (result.pushed, result.pulled) == (1, {})


def test_of_a_campaign_on_several_machines_each_hosts_main_is_pushed(machines):
    hub = machines("hub")
    hub.state.instances.clear()
    hub.find(0, b"found on box", instance="box_main")
    hub.find(0, b"found on bay", instance="bay_main")
    hub.find(1, b"from bay", instance="box_main", sync="bay_main")
    hub.find(2, b"from box's secondary", instance="box_main", sync="box_s1")
    hub.find(3, b"of the secondary", instance="box_s1")
    make_passive(hub.run.out / "far_main", "elsewhere")
    hub.find(4, b"from far away", instance="box_main", sync="hub_far_main")
    assert hub.sync().pushed == 3
    shown = sorted(hub.shows().values())
    assert shown == [b"found on bay", b"found on box", b"from box's secondary"]
    assert hub.again().sync(hub.state).pushed == 0


def test_what_kills_workers_is_known_by_its_content_whoever_has_it(a, b, c, shared):
    by_hand(shared, "hand", b"kills")
    b.find(0, b"kills")
    b.sync()
    a.find(3, b"kills")
    Unsafe(a.run.instance("main")).add(3)
    assert (a.sync().pushed, a.sync().unsafe) == (1, 0)
    assert c.sync().pulled == {}
    assert not (c.run.out / "hand").exists()


def test_a_later_process_tells_instances_of_earlier_ones_what_is_unsafe(a, b):
    a.find(0, b"kills")
    a.sync()
    b.sync()
    Unsafe(a.run.instance("main")).add(0)
    a.sync()
    b.again().sync(b.state)
    assert Unsafe(b.run.out / "a_main").load() == {0}
