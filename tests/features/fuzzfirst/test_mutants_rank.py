"""Furthest point first, against its definition and against the tool that the paper used."""

from itertools import islice
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from Levenshtein import ratio
from universalmutator import utils

from fuzztui.features.fuzzfirst.source_mutants.generate import generate
from fuzztui.features.fuzzfirst.source_mutants.rank import (
    COMPATIBLE,
    Metric,
    RankingGroup,
    rank,
    rank_as_universalmutator,
    rank_by_group,
    shuffled,
)
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant, edit

CRATE = Path(__file__).parents[3] / "sample_campaigns/crate.c"

line = st.text("ab+-*(); ", min_size=1, max_size=12)
mutant = st.builds(
    lambda n, file, at, before, after: SourceMutant(f"{n}", file, at, "rule", before, after),
    st.integers(),
    st.sampled_from(["a.c", "b.c"]),
    st.integers(1, 30),
    line,
    line,
).filter(lambda m: m.before != m.after)
programs = st.lists(
    mutant, min_size=1, max_size=14, unique_by=lambda m: (m.file, m.line, m.before, m.after)
)


def as_tool(m: SourceMutant):
    return (m.id, m.file, m.line - 1, m.before + "\n", m.after + "\n")


def tool_distance(a, b):
    return utils.d(a, b, useCache=False)


def paper_distance(a: SourceMutant, b: SourceMutant) -> float:
    """The definition in the paper's words, term by term."""
    total = 5.0 * (1 - ratio(edit(a.before, a.after), edit(b.before, b.after)))
    total += 0.1 * (1 - ratio(a.before + "\n", b.before + "\n"))
    total += 0.1 * (1 - ratio(a.after + "\n", b.after + "\n"))
    if a.file != b.file:
        return total + 0.5
    return total + min(0.25, 0.25 * abs(a.line - b.line) / 10)


@given(line, line)
def test_edits_are_the_tools(before, after):
    if before != after:
        assert edit(before, after) == utils.change(
            as_tool(SourceMutant("", "", 1, "", before, after))
        )


@given(programs)
@settings(max_examples=examples(60))
def test_the_order_is_that_of_the_definition(mutants):
    picks = list(rank(mutants))
    assert sorted(p.index for p in picks) == list(range(len(mutants)))
    assert (picks[0].index, picks[0].distance) == (0, -1.0)
    done = [0]
    for pick in picks[1:]:
        nearest = [min(paper_distance(m, mutants[d]) for d in done) for m in mutants]
        left = [i for i in range(len(mutants)) if i not in done]
        assert pick.distance == pytest.approx(max(nearest[i] for i in left), abs=1e-12)
        assert pick.distance == pytest.approx(nearest[pick.index], abs=1e-12)
        done.append(pick.index)


def tool_order(mutants):
    """What prioritize_mutants writes, as indexes."""
    listed = [as_tool(m) for m in mutants]
    deleted = [m for m in listed if utils.isStatementDeletion(m)]
    rest = [m for m in listed if m not in deleted]
    ranking = [
        *utils.FPF(deleted, len(listed), df=tool_distance, verbose=False),
        *utils.FPF(rest, len(rest), df=tool_distance, avoid=deleted, verbose=False),
    ]
    return [(listed.index(m), distance) for m, distance in ranking]


@given(programs)
@settings(max_examples=examples(60))
def test_the_compatible_order_is_the_tools_to_the_last_bit(mutants):
    assert [(p.index, p.distance) for p in rank_as_universalmutator(mutants)] == tool_order(mutants)


@pytest.mark.slow
@pytest.mark.parametrize("step", [14, pytest.param(9, marks=pytest.mark.nightly)])
def test_the_compatible_order_of_a_real_program(step):
    mutants = generate(CRATE).mutants[::step]  # the tool takes the cube of their number
    assert len(mutants) > 50
    deletions = sum("/*" in m.after for m in mutants)
    assert deletions > 3
    assert [(p.index, p.distance) for p in rank_as_universalmutator(mutants)] == tool_order(mutants)


@pytest.mark.slow
def test_a_limit_gives_the_beginning_and_nothing_is_done_ahead():
    mutants = generate(CRATE).mutants
    whole = [p.index for p in rank(mutants, first=[3])]
    assert [p.index for p in islice(rank(mutants, first=[3]), 9)] == whole[:9]
    assert list(rank([])) == []


@given(programs, st.sets(st.integers(0, 13)))
@settings(max_examples=examples(60))
def test_what_is_refused_is_as_if_it_had_never_been(mutants, refused):
    def accept(index):
        return index not in refused

    kept = [m for i, m in enumerate(mutants) if accept(i)]
    for ranking in (rank, rank_as_universalmutator):
        some = [(mutants[p.index], p.distance) for p in ranking(mutants, accept=accept)]
        assert some == [(kept[p.index], p.distance) for p in ranking(kept)]


@given(programs, st.sets(st.integers(0, 13)), st.integers(0, 9))
@settings(max_examples=examples(60))
def test_the_first_pick_is_the_first_by_chance_that_compiles(mutants, refused, seed):
    order = shuffled(len(mutants), seed)
    left = [i for i in order if i not in refused]
    kept = [mutants[i] for i in sorted(left)]
    among = [sorted(left).index(i) for i in left]
    some = [mutants[p.index] for p in rank(mutants, first=order, accept=lambda i: i in left)]
    assert some == [kept[p.index] for p in rank(kept, first=among)]
    assert some[:1] == [mutants[i] for i in left[:1]]


@given(programs, st.lists(st.sets(st.integers(0, 13)), max_size=3))
@settings(max_examples=examples(60))
def test_groups_come_first_and_all_others_as_far_as_possible_from_them(mutants, wanted):
    groups, left = [], set(range(len(mutants)))
    for some in wanted:
        groups.append(RankingGroup(len(some), sorted(some & left)))
        left -= some
    picks = list(rank_by_group(mutants, groups))
    grouped = len(mutants) - len(left)
    assert {p.index for p in picks[:grouped]} == set(range(len(mutants))) - left
    assert grouped or picks == list(rank(mutants))
    for number, pick in enumerate(picks[grouped:] if grouped else (), grouped):
        before = [mutants[p.index] for p in picks[:number]]
        nearest = [min(paper_distance(mutants[i], m) for m in before) for i in sorted(left)]
        assert pick.distance == pytest.approx(max(nearest), abs=1e-12)
        assert pick.distance == pytest.approx(nearest[sorted(left).index(pick.index)], abs=1e-12)
        left.remove(pick.index)


def test_weights_count():
    """With the place alone, the order is one of places."""
    mutants = [SourceMutant(str(n), "a.c", 1 + n, "", f"x{n}", f"y{n}") for n in range(8)]
    far = Metric(edit=0, source=0, mutant=0, line=1.0, span=100.0)
    assert [p.index for p in islice(rank(mutants, metric=far), 3)] == [0, 7, 3]
    assert COMPATIBLE.as_tool


def test_a_random_order_is_its_seeds():
    assert shuffled(50, 1) == shuffled(50, 1) != shuffled(50, 2)
    assert sorted(shuffled(50, 1)) == list(range(50))
