"""What an instance imports from the queues of its peers, and what it leaves alone."""

import struct

import pytest

from fuzztui.engines.directory.rescue import Unsafe
from fuzztui.engines.directory.store import QUEUE
from fuzztui.engines.directory.sync import NEAR_MISSES, Sync


class Store:
    """The part of the store that the stage uses."""

    def __init__(self, directory):
        self.directory = directory
        (directory / ".synced").mkdir(parents=True)

    def write(self, path, data):
        path.write_bytes(data)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def put(out, peer, **files):
    queue = out / peer / QUEUE
    queue.mkdir(parents=True, exist_ok=True)
    for number, text in files.items():
        (queue / f"id:{int(number[1:]):06d},op:x").write_text(text)


def imported(sync):
    found = []
    while (candidate := sync.propose()) is not None:
        candidate.begun()
        found.append((candidate.peer, candidate.src, candidate.data))
    return found


def next_id(store, peer):
    return struct.unpack("<I", (store.directory / ".synced" / peer).read_bytes())[0]


def test_entries_that_killed_a_worker_of_the_peer_are_passed_over(out):
    store = Store(out / "main")
    put(out, "box_main", _0="a", _1="kills", _2="c")
    Unsafe(out / "box_main").add(1)
    assert imported(Sync(out, store, 100)) == [("box_main", 0, b"a"), ("box_main", 2, b"c")]
    assert next_id(store, "box_main") == 3


def test_an_entry_that_becomes_unsafe_while_it_waits_is_passed_over(out):
    store = Store(out / "main")
    put(out, "box_main", _0="a", _1="kills")
    sync = Sync(out, store, 100)
    sync.propose().begun()
    Unsafe(out / "box_main").add(1)
    assert imported(sync) == []
    assert next_id(store, "box_main") == 2


@pytest.mark.parametrize("content", [b"\xff\xfe\n1\n", b"1\n" + b"9" * 5000, b"one\n-1\n1"])
def test_a_peers_list_of_unsafe_entries_may_contain_anything(out, content):
    put(out, "peer", _0="a", _1="b")
    (out / "peer/.unsafe").write_bytes(content)
    assert imported(Sync(out, Store(out / "main"), 100)) == [("peer", 0, b"a")]


def test_a_list_that_is_no_file_is_none(out):
    put(out, "peer", _0="a")
    (out / "peer/.unsafe").mkdir()
    assert imported(Sync(out, Store(out / "main"), 100)) == [("peer", 0, b"a")]


def test_placeholders_are_no_entries(out):
    put(out, "peer", _1="b")
    (out / "peer/queue/id:000000,gone").touch()
    assert imported(Sync(out, Store(out / "main"), 100)) == [("peer", 1, b"b")]


def test_near_misses_are_read_by_whoever_asks_for_them_only(tmp_path):
    out = tmp_path / "out"
    near = out / NEAR_MISSES / "queue"
    near.mkdir(parents=True)
    (near / "id:000000,sync:m1,src:000003,time:0,execs:0,op:m1+000003").write_bytes(b"near")
    peer = out / "peer" / "queue"
    peer.mkdir(parents=True)
    (peer / "id:000000,time:0,execs:0,orig:x").write_bytes(b"peer")
    store = Store(out / "main")
    assert imported(Sync(out, store, 100)) == [("peer", 0, b"peer")]
    assert imported(Sync(out, store, 100, NEAR_MISSES)) == [(NEAR_MISSES, 0, b"near")]
    assert imported(Sync(out, store, 100, NEAR_MISSES)) == []  # noted, once they were tried
