import os
from pathlib import Path

import pytest

from fuzztui.features.watch.directories import Trees, WatchError


def instance(path: Path) -> Path:
    (path / "queue").mkdir(parents=True)
    (path / "hangs").mkdir()
    return path


def names(*directories: Path) -> list[str]:
    return [place.name for place in Trees(directories).places()]


def test_one_instance_a_sync_dir_and_a_flat_one(tmp_path):
    for name in ("s2", "main", "s1"):
        instance(tmp_path / "out" / name)
    (tmp_path / "out/notes").mkdir()
    instance(tmp_path / "out/.hidden")
    assert names(tmp_path / "out/main") == ["main"]
    assert names(tmp_path / "out") == ["main", "s1", "s2"]
    assert names(tmp_path / "out/s1", tmp_path / "out/main") == ["main", "s1"]
    flat = instance(tmp_path / "flat")  # afl-fuzz -n: no fuzzer_stats, no directory of its own
    assert names(flat) == ["flat"]
    empty = tmp_path / "stats"
    empty.mkdir()
    (empty / "fuzzer_stats").write_text("")
    assert names(empty) == ["stats"]


def test_a_queue_of_jobs_and_our_own_seeds_are_no_instances(tmp_path):
    (tmp_path / "app/queue").mkdir(parents=True)
    (tmp_path / "app/queue/worker.py").write_text("")
    assert names(tmp_path) == []
    assert names(tmp_path / "app") == []
    sibling = tmp_path / "libfuzzer/queue"
    sibling.mkdir(parents=True)
    (sibling / "id:000000,time:0,execs:0,orig:a").write_text("a")
    (tmp_path / "added/queue").mkdir(parents=True)
    (tmp_path / "added/queue/id:000000,time:0,execs:0,orig:a").write_text("a")
    assert names(tmp_path) == ["libfuzzer"]
    (tmp_path / "added/fuzzer_stats").write_text("")  # somebody's -S added
    assert names(tmp_path) == ["added", "libfuzzer"]


def test_several_get_unique_names_and_say_what_a_sibling_is_called(tmp_path):
    for path in ("a/out/main", "a/out/s1", "b/out/main"):
        instance(tmp_path / path)
    trees = Trees([tmp_path / "a/out", tmp_path / "b/out", tmp_path / "a/out/s1"])
    places = trees.places()
    assert [p.name for p in places] == ["a:out:main", "a:out:s1", "b:out:main"]
    assert [p.prefix for p in places] == ["a:out:", "a:out:", "b:out:"]
    assert trees.title == "a/out + b/out"


def test_as_many_parents_are_named_as_tell_directories_apart(tmp_path):
    given = ["x/one/afl/out", "x/two/afl/out", "x/other", "y/two/afl/out"]
    for path in given:
        instance(tmp_path / path / "main")
    trees = Trees([tmp_path / path for path in given])
    assert trees.title == "one/afl/out + x/two/afl/out + other + y/two/afl/out"
    assert len({p.prefix for p in trees.places()}) == 4
    assert not any("/" in p.name for p in trees.places())


def test_what_comes_later_shows_up(tmp_path):
    trees = Trees([tmp_path])
    assert trees.places() == []
    assert trees.nothing() is None  # somebody is about to start
    instance(tmp_path / "main")
    assert [p.name for p in trees.places()] == ["main"]
    (tmp_path / "main/queue").rmdir()
    assert trees.places() == []


def test_errors_say_what_to_do(tmp_path):
    (tmp_path / "notes").write_text("x")
    with pytest.raises(WatchError, match="no such directory"):
        Trees([tmp_path / "none"])
    with pytest.raises(WatchError, match="not a directory"):
        Trees([tmp_path / "notes"])
    reason = Trees([tmp_path]).nothing()
    assert reason is not None
    assert "afl-fuzz -o" in str(reason)


def test_odd_children_are_survived(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a/queue")  # no queue
    (tmp_path / "b").mkdir()
    (tmp_path / "b/fuzzer_stats").symlink_to("fuzzer_stats")
    strange = os.fsencode(tmp_path) + b"/\xff\x1b[2J[x]\n"
    os.makedirs(strange + b"/queue")
    os.makedirs(strange + b"/crashes")
    assert sorted(names(tmp_path)) == ["b", os.fsdecode(b"\xff\x1b[2J[x]\n")]


def test_links_to_instances_are_followed_each_instance_once(tmp_path):
    out = tmp_path / "out"
    for path in (out / "main", tmp_path / "disk/s1"):
        instance(path)
    (out / "latest").symlink_to("main")  # by name before the one that it leads to
    (out / "s1").symlink_to(tmp_path / "disk/s1")
    (out / "s1-again").symlink_to("s1")
    (out / "dangling").symlink_to("nowhere")
    (out / "loop").symlink_to("loop")
    (out / "up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    (out / "fifo").symlink_to(tmp_path / "fifo")
    places = Trees([out]).places()
    assert [(p.name, p.path) for p in places] == [
        ("main", str(out / "main")),
        ("s1", str(tmp_path / "disk/s1")),
    ]
    (named,) = Trees([out / "s1"]).places()
    assert (named.name, named.path) == ("s1", str(tmp_path / "disk/s1"))
    (tmp_path / "alias").symlink_to(out)
    assert len(Trees([out, tmp_path / "alias", tmp_path / "disk"]).places()) == 2


def test_what_lies_deeper_is_named(tmp_path):
    instance(tmp_path / "nest/one/out/main")
    instance(tmp_path / "nest/two/main")
    (tmp_path / "nest/notes").mkdir()
    reason = str(Trees([tmp_path / "nest"]).nothing())
    assert str(tmp_path / "nest/two") in reason
    assert str(tmp_path / "nest/notes") not in reason
