"""Turns go where they pay, none starves, and a user's weight counts."""

import random
from collections import Counter

import pytest

from fuzztui.engines.loop.shares import FLOOR, WINDOW, Shares, Yield
from fuzztui.engines.loop.suite import in_parts
from fuzztui.engines.suite.properties import KEY_SIZE, keys_of
from fuzztui.kernel.base.text import without_folders
from fuzztui.kernel.wire.codec import MAX_EVENT, encode_event
from fuzztui.kernel.wire.events import PropertiesFound

TURN = 20_000.0


def played(yields, turns, cells, seed=1):
    """How often each had a turn. ``cells``: what a turn of each brings."""
    shares, had = Shares(yields, random.Random(seed)), Counter()
    for _ in range(turns):
        at = shares.next(range(len(yields)))
        had[at] += 1
        yields[at].add(TURN)
        yields[at].find(cells[at])
    return shares, had


def test_what_pays_gets_most_and_the_others_their_floor():
    yields = [Yield() for _ in range(10)]
    shares, had = played(yields, 2000, [5.0] + [0.0] * 9)
    assert had[0] > 1000
    assert min(had.values()) >= 2000 * FLOOR / 10 * 0.8
    now = shares.shares(range(10))
    assert abs(sum(now.values()) - 1) < 1e-9
    assert now[0] > 0.5 > FLOOR / 10 <= min(now.values())


def test_what_stops_paying_loses_its_share():
    yields = [Yield(), Yield()]
    shares, _ = played(yields, 500, [5.0, 0.0])
    before = shares.shares(range(2))[0]
    for _ in range(int(10 * WINDOW / TURN)):
        yields[0].add(TURN)
    assert shares.shares(range(2))[0] < before / 1.5


def test_each_has_a_turn_before_any_has_a_second():
    _, had = played([Yield() for _ in range(50)], 50, [9.0] * 50)
    assert had == Counter(range(50))


def test_weights():
    yields = [Yield(), Yield(weight=0.0), Yield(weight=4.0)]
    shares, had = played(yields, 1000, [0.0] * 3)
    assert had[1] == 0
    assert had[2] > 2.5 * had[0]
    assert shares.shares(range(3))[1] == 0.0
    # Only some can be run: those with weight 0 are better than nothing.
    assert shares.next([1]) == 1


def test_the_same_seed_the_same_turns():
    def turns(seed):
        shares, made = Shares([Yield() for _ in range(5)], random.Random(seed)), []
        for _ in range(200):
            made.append(shares.next(range(5)))
            shares._yields[made[-1]].add(TURN)
        return made

    assert turns(3) == turns(3) != turns(4)


def test_keys_depend_on_the_name_alone_and_are_all_different():
    names = [f"tests/test_a.py::test_{n}" for n in range(300)]
    keys = keys_of(names)
    assert len(set(keys)) == 300 and {len(key) for key in keys} == {KEY_SIZE}
    assert keys_of(names[10:]) == keys[10:]
    same = keys_of(["a", "a"])
    assert same[0] != same[1]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("tests/a/test_b.py::TestC::test_d[x/y]", "test_b.py::TestC::test_d[x/y]"),
        ("test_b.py::test_d", "test_b.py::test_d"),
        ("pkg/raw.py:f", "raw.py:f"),
    ],
)
def test_names_without_folders(name, short):
    assert without_folders(name) == short


def test_the_rows_of_a_large_suite_are_several_events():
    reasons = {f'tests/test_a.py::test_b[{n}\u00e9"]': "x" * 300 for n in range(5_000)}
    parts = [PropertiesFound("main", part) for part in in_parts(reasons)]
    assert max(len(encode_event(part)) for part in parts) < MAX_EVENT
    assert 1 < len(parts) < 50
    assert [n for part in parts for n in part.reasons] == [*reasons]
    assert [*in_parts({})] == []
