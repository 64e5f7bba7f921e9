"""A small set of inputs that kills what all inputs kill."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.model.matrix import CorpusMatrix, MatrixError, greedy_cover


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


@pytest.mark.parametrize(
    "data", [None, {}, {"mutants": 3}, {"mutants": ["a"], "cells": [], "first_only": [[7, "x"]]}]
)
def test_damaged_data_is_no_matrix(data: object) -> None:
    with pytest.raises(MatrixError):
        CorpusMatrix.of(data)
