"""A small set of inputs that has what all inputs have."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.corpus.cover import CoverInput, Numbering, bits_of, greedy_cover


@dataclass(frozen=True)
class Row:
    file: str
    size: int
    has: frozenset[int]


rows = st.lists(
    st.builds(Row, st.uuids().map(str), st.integers(0, 5), st.frozensets(st.integers(0, 12))),
    max_size=12,
)


@given(rows)
def test_a_cover_has_everything_and_nothing_needless(those: list[Row]) -> None:
    picks = greedy_cover(those, lambda row: row.has)
    everything = set().union(*(row.has for row in those)) if those else set()
    assert set().union(*(pick.new for pick in picks)) == everything
    assert sum(len(pick.new) for pick in picks) == len(everything)
    for without in picks:
        rest = set().union(*(p.row.has for p in picks if p is not without))
        assert rest != everything
    sizes = [len(pick.new) for pick in picks]
    assert sizes == sorted(sizes, reverse=True)


@given(rows, st.randoms())
def test_a_cover_does_not_depend_on_the_order_of_the_rows(those: list[Row], random) -> None:
    mixed = random.sample(those, len(those))
    assert greedy_cover(those, lambda r: r.has) == greedy_cover(mixed, lambda r: r.has)


def test_of_equal_inputs_the_smallest_is_taken() -> None:
    large, small = Row("a", 9, frozenset({1})), Row("b", 2, frozenset({1}))
    assert [pick.row for pick in greedy_cover([large, small], lambda row: row.has)] == [small]


@given(rows, st.frozensets(st.integers(0, 12)))
def test_what_is_there_already_is_not_covered_again(those: list[Row], have: frozenset[int]) -> None:
    picks = greedy_cover(those, lambda row: row.has, have=have)
    everything = set().union(*(row.has for row in those)) if those else set()
    assert have.union(*(pick.new for pick in picks)) == have | everything
    assert not any(pick.new & have for pick in picks)
    for without in picks:
        rest = have.union(*(p.row.has for p in picks if p is not without))
        assert not everything <= rest


@given(rows)
def test_each_pick_is_the_best_at_its_time(those: list[Row]) -> None:
    """Rows are weighed lazily; the picks are those of weighing all of them each time."""
    picks = greedy_cover(those, lambda row: row.has)
    left = [pick.row for pick in picks]
    seen: set[int] = set()
    for pick in picks:
        best = max(len(row.has - seen) for row in left)
        equal = [row for row in left if len(row.has - seen) == best]
        assert pick.row == min(equal, key=lambda row: (row.size, row.file))
        left.remove(pick.row)
        seen |= pick.row.has


def test_a_kill_counts_like_an_edge_unless_it_weighs_more() -> None:
    edges = CoverInput("edges", 1, frozenset({1, 2, 3}))
    kills = CoverInput("kills", 9, frozenset({1, "a"}))

    picks = greedy_cover([edges, kills], lambda row: row.has, lambda item: isinstance(item, str))
    assert [pick.row for pick in picks] == [kills, edges]
    picks = greedy_cover([edges, kills], lambda row: row.has)
    assert [pick.row for pick in picks] == [edges, kills]
    assert greedy_cover([edges, kills], lambda row: row.has, have=[1, 2, 3, "a"]) == []


@given(st.lists(st.frozensets(st.integers(0, 99))))
def test_a_mask_is_a_set(sets: list[frozenset[int]]) -> None:
    numbers = Numbering()
    masks = [numbers.mask(items) for items in sets]
    assert [frozenset(numbers.things(mask)) for mask in masks] == sets
    assert [mask.bit_count() for mask in masks] == [len(items) for items in sets]
    for mask in masks:
        assert sum(1 << bit for bit in bits_of(mask)) == mask
