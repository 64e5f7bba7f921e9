"""Entries of other hosts are stored as passive instances that afl-fuzz can import from."""

import pytest

from fuzztui.engines.directory.store import entry_ids
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.entries import GaplessQueue, highest_ids, store_entries
from fuzztui.run.campaign.rundir import RunDir, prepare_run
from fuzztui.run.observe.passive import PassiveDirectories


def test_ids_that_are_left_out_get_an_empty_file(tmp_path):
    prepare_run(tmp_path / "run")
    run = RunDir(tmp_path / "run")
    rows = [("a_main", "id:000002,op:x", b"two"), ("a_main", "id:000004,op:x", b"four")]
    assert store_entries(run, rows) == 2
    assert store_entries(run, [("a_main", "id:000006,op:x", b"six")]) == 1
    names = entry_ids(run.instance("a_main") / "queue")
    assert sorted(names) == list(range(7))
    sizes = [(run.instance("a_main") / "queue" / names[n]).stat().st_size for n in range(7)]
    assert sizes == [0, 0, 3, 0, 4, 0, 3]
    assert highest_ids(run, ["a_main", "b_main"]) == {"a_main": 6, "b_main": -1}


def test_they_are_passive_instances(tmp_path):
    prepare_run(tmp_path / "run")
    run = RunDir(tmp_path / "run")
    store_entries(run, [("a_main", "id:000001,x", b"1"), ("b_main", "id:000001,x", b"1")])
    assert [e.instance for e in PassiveDirectories(run.out).look(())] == ["a_main", "b_main"]


def test_an_entry_that_comes_late_takes_its_place(tmp_path):
    prepare_run(tmp_path / "run")
    run = RunDir(tmp_path / "run")
    for number in (2, 1, 2):
        store_entries(run, [("a_main", f"id:{number:06d},op:x", b"%d" % number)])
    names = sorted(p.name for p in (run.instance("a_main") / "queue").iterdir())
    assert names == ["id:000000,gone", "id:000001,op:x", "id:000002,op:x"]


def test_a_name_costs_no_more_files_than_there_can_be_ids(tmp_path):
    queue = GaplessQueue(tmp_path)
    assert queue.store("id:000003,op:x", b"x", most=5) == 3
    for again in (queue, GaplessQueue(tmp_path)):  # the next hub counts what is there
        with pytest.raises(ProtocolError):
            again.store("id:000090000,gap", b"x", most=5)
        with pytest.raises(ProtocolError):
            again.store("id:000007,gap", b"x", most=5)
    assert len(list((tmp_path / "queue").iterdir())) == 4
    assert queue.store("id:000006,op:x", b"x", most=5) == 2
