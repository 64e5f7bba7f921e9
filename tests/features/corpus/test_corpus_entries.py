"""The inputs of runs and directories: hostile names, each content once."""

import os

from fuzztui.features.corpus.entries import MAX_INPUT_BYTES, directory_inputs, run_inputs


def put(file, data):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def test_entries_of_all_instances_each_content_once(tmp_path):
    run, copies = tmp_path / "run", tmp_path / "copies"
    copies.mkdir()
    hostile = "id:000001\n$(touch x);'\"|"
    put(run / "out/main/queue/id:000000,orig:a", b"one")
    put(run / "out/main/queue" / hostile, b"two")
    put(run / "out/main/queue/.state/x", b"hidden")
    put(run / "out/s1/queue/id:000000,orig:a", b"one")
    put(run / "out/s1/queue/id:000007", b"")
    put(run / "out/s1/crashes/id:000000", b"crash")
    put(tmp_path / "secret", b"secret")
    os.mkfifo(run / "out/main/queue/pipe")
    (run / "out/main/queue/id:000002").mkdir()
    (run / "out/main/queue/link").symlink_to(tmp_path / "secret")
    found = run_inputs(run, copies)
    assert [(e.name, e.size) for e in found.entries] == [
        ("main/id:000000,orig:a", 3), (f"main/{hostile}", 3), ("s1/id:000007", 0),
    ]  # fmt: skip
    assert [e.copy.read_bytes() for e in found.entries] == [b"one", b"two", b""]
    assert {e.copy.parent for e in found.entries} == {copies}
    assert all(e.copy.name.isdecimal() for e in found.entries)
    assert list(found.same.values()) == [["s1/id:000000,orig:a"]]
    assert found.files == 4
    assert found.left_out == []


def test_what_cannot_be_an_input_is_named(tmp_path):
    (tmp_path / "copies").mkdir()
    put(tmp_path / "in/small", b"x")
    with (tmp_path / "in/large").open("wb") as file:
        file.truncate(MAX_INPUT_BYTES + 1)
    found = directory_inputs(tmp_path / "in", tmp_path / "copies")
    assert [e.name for e in found.entries] == ["small"]
    assert [name for name, _ in found.left_out] == ["large"]


def test_of_a_directory_of_afl_the_queues_are_read(tmp_path):
    (tmp_path / "copies").mkdir()
    put(tmp_path / "out/a/queue/id:000000", b"1")
    put(tmp_path / "out/a/fuzzer_stats", b"execs_done : 1")
    put(tmp_path / "out/a/crashes/README.txt", b"text")
    found = directory_inputs(tmp_path / "out", tmp_path / "copies")
    assert [e.name for e in found.entries] == ["a/queue/id:000000"]
