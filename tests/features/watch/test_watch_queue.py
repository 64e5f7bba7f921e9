from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.watch.queue import Numbered, WatchedQueue, choose, number_of


def queue(tmp_path: Path, name: str, *files: str) -> WatchedQueue:
    path = tmp_path / name / "queue"
    path.mkdir(parents=True)
    for file in files:
        (path / file).write_bytes(b"x")
    return WatchedQueue(str(path))


def numbers(q: WatchedQueue) -> list[int]:
    return sorted(map(number_of, q.chosen))


def test_the_newest_and_all_ancestors_back_to_the_seed(tmp_path):
    files = [f"id:{n:06d},src:{n - 1:06d},time:{n},op:havoc" for n in range(1, 100)]
    q = queue(tmp_path, "main", "id:000000,time:0,orig:seed", *files)
    choose({"main": q}, [("main", 5), ("main", 7777), ("elsewhere", 1)], 10)
    assert numbers(q) == [0, 1, 2, 3, 4, 5, *range(90, 100)]
    assert q.count == 100


def test_ancestors_in_the_queues_of_peers(tmp_path):
    main = queue(tmp_path, "main", "id:000000,orig:a", "id:000001,sync:s1,src:000004")
    s1 = queue(
        tmp_path, "s1", "id:000004,src:000003", "id:000003,sync:main,src:000000", "id:000009"
    )
    # main is listed before s1 says what it wants of it.
    choose({"main": main, "s1": s1}, [("main", 1)], 0)
    assert (numbers(main), numbers(s1)) == ([0, 1], [3, 4])


def test_peers_have_their_names_in_the_log(tmp_path):
    main = queue(tmp_path, "main", "id:000001,sync:s1,src:000004")
    s1 = queue(tmp_path, "s1", "id:000004,orig:b")
    main.prefix = s1.prefix = "out:"
    choose({"out:main": main, "out:s1": s1}, [("out:main", 1)], 0)
    assert numbers(s1) == [4]


def test_small_queues_leave_room_for_large_ones(tmp_path):
    small = queue(tmp_path, "a", "id:000000")
    large = queue(tmp_path, "b", *(f"id:{n:06d}" for n in range(100)))
    choose({"a": small, "b": large}, (), 21)
    assert (len(small.chosen), numbers(large)) == (1, list(range(80, 100)))


def test_ids_beyond_a_million_and_names_of_another_shape(tmp_path):
    q = queue(tmp_path, "a", "id:999999,x", "id:1000000,x", "id:1000001,x", "0" * 40, "id:y", ".z")
    choose({"a": q}, (), 3)
    assert numbers(q) == [999999, 1000000, 1000001]
    assert q.count == 6
    assert "0" * 40 in q.seen
    assert "id:000003,new" in q.seen
    assert "id:1000002" not in q.seen


def test_entries_without_ids_are_entries(tmp_path):
    """AFL_SHA1_FILENAMES."""
    q = queue(tmp_path, "a", *(f"{n}" * 40 for n in range(5)))
    choose({"a": q}, (), 3)
    assert len(q.chosen) == 3
    assert "4" * 40 in q.seen


def test_no_queue(tmp_path):
    q = WatchedQueue(str(tmp_path / "none"))
    choose({"a": q}, [("a", 3)], 10)
    assert (q.count, q.chosen) == (0, set())


def test_parents_in_a_circle_end(tmp_path):
    a = queue(tmp_path, "a", "id:000001,sync:b,src:000001", "id:000002,src:000002")
    b = queue(tmp_path, "b", "id:000001,sync:a,src:000001")
    choose({"a": a, "b": b}, [("a", 1), ("a", 2)], 0)
    assert (numbers(a), numbers(b)) == ([1, 2], [1])


@given(st.lists(st.integers(0, 60)))
def test_numbered_is_a_set(ids):
    numbered, names = Numbered(), set()
    for n in ids:
        name = f"id:{n:06d},src:000000"
        assert (name in numbered) == (name in names)
        numbered.add(name)
        names.add(name)
    assert all(name in numbered for name in names)


ODD = ["", "id:", "id:,", "id:x", "id:12345678901", "idx000001", "id:-00001,", "id:٣", "\udcff"]


@pytest.mark.parametrize(
    ("name", "number"),
    [("id:000012,src:1", 12), ("id:1234567", 1234567), *((odd, -1) for odd in ODD)],
)
def test_number_of(name, number):
    assert number_of(name) == number
