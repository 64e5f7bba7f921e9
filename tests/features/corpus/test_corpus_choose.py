"""Which inputs are enough: nothing is lost, nothing is needless, and what flickers stays."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.corpus.choose import Choice, Kills, choose, covered_by, missing_again
from fuzztui.features.corpus.entries import CorpusInput
from fuzztui.features.corpus.measure import Covered, Measured

Edges = frozenset[tuple[str, int]]
edges = st.frozensets(st.tuples(st.sampled_from("abcdef"), st.integers(0, 2)), max_size=6)
inputs = st.lists(
    st.tuples(edges, edges, st.frozensets(st.sampled_from(["m1", "m2", "m3"])), st.integers(0, 4)),
    max_size=9,
)
"""What an input covers each time, what in one run only, what it kills, its size."""


def entry(at: int, size: int = 1) -> CorpusInput:
    return CorpusInput(f"main/{at}", Path(), Path(), f"sha{at}", size)


def corpus(rows) -> tuple[list[CorpusInput], Measured, Kills]:
    measured = Measured()
    entries = []
    for at, (always, sometimes, _, size) in enumerate(rows):
        mask = measured.numbers.mask
        measured.inputs.append(Covered(mask(always), mask(sometimes - always), {"ok"}))
        entries.append(entry(at, size))
    return entries, measured, Kills({f"sha{at}": row[2] for at, row in enumerate(rows)})


def has(measured: Measured, kills: Kills, at: int) -> set:
    stable = set(measured.numbers.things(measured.inputs[at].always))
    return stable | kills.by_input[f"sha{at}"]


@given(inputs)
def test_the_choice_has_everything_and_dropping_one_loses_something(rows):
    entries, measured, kills = corpus(rows)
    choice = choose(entries, measured, kills)
    everything = set().union(*(has(measured, kills, at) for at in range(len(rows))))
    kept = {one.at: has(measured, kills, one.at) for one in choice.chosen}
    assert set().union(*kept.values()) == everything
    free = [one.at for one in choice.chosen if not one.why]
    for at in free:
        assert set().union(*(has for other, has in kept.items() if other != at)) != everything
    new = [set(measured.numbers.things(one.new)) for one in choice.chosen]
    assert sum(map(len, new)) == len(set().union(*new))


@given(inputs)
def test_no_input_is_lost_that_shows_what_none_shows_each_time(rows):
    entries, measured, kills = corpus(rows)
    choice = choose(entries, measured, kills)
    always = set().union(*(row[0] for row in rows))
    flickering = set().union(*(row[1] for row in rows)) - always
    assert set(measured.numbers.things(choice.flickering)) == flickering
    needed = {at for at, row in enumerate(rows) if row[1] & flickering}
    assert needed <= {one.at for one in choice.chosen}
    assert {one.at for one in choice.chosen if one.why} == needed


@given(inputs, inputs)
def test_a_directory_gets_only_what_it_lacks(before, after):
    entries, measured, kills = corpus([*before, *after])
    base = len(before)
    old = Measured(measured.numbers, measured.inputs[:base])
    new = Measured(measured.numbers, measured.inputs[base:])
    mask = covered_by(entries[:base], old, kills)
    choice = choose(entries[base:], new, kills, mask)
    there = set(measured.numbers.things(mask))
    for one in choice.chosen:
        brings = set(measured.numbers.things(one.new))
        assert (brings or one.why) and not brings & there
    again = mask
    for one in choice.chosen:
        again |= one.new
    assert choose(entries[base:], new, kills, again).chosen == []


def test_the_smallest_of_equals_then_the_first_by_name():
    row = (frozenset({("a", 0)}), frozenset(), frozenset())
    entries, measured, _ = corpus([(*row, 3), (*row, 2), (*row, 2)])
    assert [one.at for one in choose(entries, measured).chosen] == [1]


def one_of_each() -> tuple[list[CorpusInput], Measured]:
    entries, measured, _ = corpus([(frozenset({("a", 0)}), frozenset(), frozenset(), 1)] * 3)
    measured.inputs[1].outcomes = {"crash"}
    measured.inputs[2].outcomes = {"crash", "ok"}
    return entries, measured


def test_an_input_that_fails_is_left_out_and_one_that_fails_sometimes_is_kept():
    entries, measured = one_of_each()
    choice = choose(entries, measured)
    assert choice.failing == [1]
    assert [(one.at, bool(one.why)) for one in choice.chosen] == [(2, True)]


def test_an_input_on_which_no_mutant_can_be_judged_is_kept():
    entries, measured, _ = corpus([(frozenset({("a", 0)}), frozenset(), frozenset(), 1)] * 2)
    choice = choose(entries, measured, Kills({}, frozenset({"sha1"})))
    assert [one.at for one in choice.chosen] == [1]


def test_what_is_missing_without_the_others_brings_back_all_that_had_it():
    """What an input covers may depend on the inputs before it: a cache."""
    a, b = ("a", 0), ("b", 0)
    rows = [(frozenset(s), frozenset(), frozenset(), n) for n, s in enumerate(({a, b}, {a}, {b}))]
    entries, measured, _ = corpus(rows)
    choice = choose(entries, measured)
    assert [one.at for one in choice.chosen] == [0]
    alone = Measured(measured.numbers, [Covered(measured.numbers.mask({a}), 0, {"ok"})])
    assert missing_again(measured, choice, alone) == [2]
    assert missing_again(measured, choice, Measured(measured.numbers, measured.inputs[:1])) == []
    assert missing_again(measured, Choice(), Measured(measured.numbers)) == []
