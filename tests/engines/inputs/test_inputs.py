"""Choice sequences, mutators, dictionaries: what inputs are made of."""

import ast
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.inputs.dictionary import Constants, constants_of, read_dictionary, tokens_of
from fuzztui.engines.inputs.inputs import GeneratedInput, TextInput
from fuzztui.engines.inputs.reduce import shrink
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry
from fuzztui.engines.loop.mutate import ChoiceMutator, Geometric, Havoc, Splice


def source(data: bytes = b"", limit: int = 10240, seed: int = 1) -> Source:
    return Source(data, limit, random.Random(seed).randbytes)


def anything(r: Source) -> list[object]:
    """A generator that uses every kind of choice."""
    out: list[object] = [r.integer(-5, 70_000), r.boolean(), r.choose("abc"), r.bytes(r.below(5))]
    out += [r.text("xyz", 0, 5), r.weighted([(1, "a"), (9, "b")]), round(r.real(-1, 1), 3)]
    out += [r.below(300) for _ in r.more(1, 9)]
    return out


# ------------------------------------------------------------------------------ choices


@given(st.binary(max_size=40), st.integers(0, 100))
def test_drawn_choices_repeat_the_input(data: bytes, seed: int) -> None:
    first = source(data, seed=seed)
    made = anything(first)
    again = source(first.drawn(), seed=seed + 1)
    assert anything(again) == made
    assert again.drawn() == first.drawn()


@given(st.binary(min_size=8, max_size=8), st.integers(1, 2**40))
def test_below_is_below(data: bytes, n: int) -> None:
    assert 0 <= source(data).below(n) < n


def test_size_of_choices() -> None:
    for n, size in [(1, 1), (256, 1), (257, 2), (65536, 2), (65537, 3), (2**32, 4)]:
        r = source()
        r.below(n)
        assert len(r.drawn()) == size


def test_limit_rejects() -> None:
    r = source(limit=100)
    with pytest.raises(Rejected):
        while True:
            r.bytes(7)
    assert len(r.drawn()) == 98


def test_what_is_not_drawn_is_no_part() -> None:
    form = GeneratedInput(lambda r: r.below(10), 100, random.Random(1).randbytes)
    form.build(b"\x03tail")
    assert form.used(b"\x03tail") == b"\x03"


def test_fresh_choices_are_told_to_the_journal() -> None:
    told: list[bytes] = []
    form = GeneratedInput(lambda r: r.bytes(100), 120, random.Random(1).randbytes, told.append)
    made = form.build(b"abc")
    assert b"".join([b"abc", *told])[:100] == made


def test_more_is_mutable_element_by_element() -> None:
    assert len(list(source(bytes([0, 0, 0, 255])).more(0, 9))) == 3
    assert len(list(source(bytes(50)).more(0, 9))) == 9
    assert len(list(source(b"\xff").more(2, 9))) == 2


@given(st.binary(max_size=50))
def test_every_input_is_a_text(data: bytes) -> None:
    text = TextInput().build(data)
    assert isinstance(text, str)
    text.encode("utf-8")


# ----------------------------------------------------------------------------- mutators


def entry(data: bytes, number: int = 0) -> CorpusEntry:
    return CorpusEntry(number, f"id:{number:06d}", data, 1)


@given(st.binary(max_size=300), st.integers(0, 1000), st.booleans(), st.integers(1, 300))
def test_havoc_keeps_parent_and_limit(data: bytes, seed: int, text: bool, limit: int) -> None:
    parent = entry(data, 7)
    havoc = Havoc(random.Random(seed), limit, [b"token"], text=text)
    child = havoc.mutate(parent)
    assert parent.data == data
    assert len(child.data) <= max(limit, 0)
    assert (child.src, child.src2) == (7, -1)
    assert child == Havoc(random.Random(seed), limit, [b"token"], text=text).mutate(parent)


def test_havoc_reaches_what_it_should() -> None:
    """From one byte: longer, shorter, tokens, any byte value."""
    havoc = Havoc(random.Random(3), 1000, [b"TOKEN"])
    children = [havoc.mutate(entry(b"ab")).data for _ in range(20_000)]
    assert any(c == b"" for c in children)
    assert any(b"TOKEN" in c for c in children)
    assert len({c[0] for c in children if c}) == 256
    assert max(map(len, children)) > 50


def test_havoc_takes_tokens_that_come_late() -> None:
    tokens: list[bytes] = []
    havoc = Havoc(random.Random(3), 1000, tokens)
    assert not any(b"TOKEN" in havoc.mutate(entry(b"ab")).data for _ in range(1000))
    tokens.append(b"TOKEN")
    assert any(b"TOKEN" in havoc.mutate(entry(b"ab")).data for _ in range(1000))


def test_havoc_works_from_nothing() -> None:
    havoc = Havoc(random.Random(1), 100, [b"T"])
    children = [havoc.mutate(entry(b"")).data for _ in range(100)]
    assert sum(map(bool, children)) > 90


@given(st.binary(max_size=200), st.integers(0, 1000))
def test_choice_mutation_keeps_the_length(data: bytes, seed: int) -> None:
    child = ChoiceMutator(random.Random(seed)).mutate(entry(data))
    assert len(child.data) == len(data)


def test_choice_mutation_sometimes_writes_zeros() -> None:
    """One child in ten: zeros only."""
    mutator = ChoiceMutator(random.Random(1))
    parent = entry(b"\xaa" * 200)
    changed = [set(mutator.mutate(parent).data) - {0xAA} for _ in range(3000)]
    share = sum(c == {0} for c in changed) / len(changed)
    assert 0.08 < share < 0.12


def test_geometric_mean() -> None:
    draw = Geometric(8.0, random.Random(1))
    numbers = [draw() for _ in range(50_000)]
    assert min(numbers) == 1
    assert 7.8 < sum(numbers) / len(numbers) < 8.2


def test_splice_takes_head_and_tail() -> None:
    corpus = Corpus()
    for i, data in enumerate([b"aaaaaaaa", b"bbbbbbbb"]):
        corpus.add(entry(data, i))
    rng = random.Random(1)
    splice = Splice(rng, corpus, Havoc(rng, 12))
    children = [splice.mutate(corpus.entries[0]) for _ in range(2000)]
    assert any(c.data == b"aaaabbbb"[: len(c.data)] and c.src2 == 1 for c in children)
    assert all(len(c.data) <= 12 for c in children)
    assert {c.op for c in children if c.src2 == -1} <= {f"havoc,rep:{n}" for n in (1, 2, 4, 8, 16)}


# ---------------------------------------------------------------------------- shrinking


@given(st.binary(max_size=200), st.sets(st.integers(0, 255), max_size=4), st.integers(0, 80))
def test_shrinking_keeps_what_counts(data: bytes, needed: set[int], runs: int) -> None:
    asked: list[bytes] = []

    def keeps(smaller: bytes) -> bool:
        asked.append(smaller)
        return (set(data) & needed) <= set(smaller)

    result = shrink(data, keeps, runs)
    assert (set(data) & needed) <= set(result)
    assert result == data or result in asked
    assert len(asked) <= runs
    assert all(len(a) < len(data) for a in asked)
    if runs == 80 and not needed and len(data) > 1:
        assert len(result) <= 1


# -------------------------------------------------------------------------- dictionaries


def test_constants_of_code() -> None:
    constants = Constants()
    constants.add(
        "m",
        constants_of(
            ast.parse(
                '''
"""module docstring"""
def f(x: "annotation") -> "return":
    """docstring"""
    if x == "compared" or x in (b"bytes", 1234):
        return x.startswith("prefix") or {"other": 7}
    match x:
        case "matched": pass
    return f"{x}formatted" * 70000
'''
            )
        ),
    )
    tokens = tokens_of(constants.found.values())
    assert tokens[:3] == [b"compared", b"bytes", b"1234"]
    assert tokens.index(b"matched") < tokens.index(b"prefix") < tokens.index(b"other")
    assert {b"\xd2\x04", b"\x04\xd2", b"formatted", b"70000"} <= set(tokens)
    assert not {b"docstring", b"module docstring", b"annotation", b"return", b"7"} & set(tokens)


def test_afl_dictionary(tmp_path: Path) -> None:
    file = tmp_path / "x.dict"
    file.write_bytes(b'# c\n\nkw="GET"\nhex@2="\\x00\\xffA"\n"\\"q\\\\"\nx = "a b"\n')
    assert read_dictionary(file) == [b"GET", b"\x00\xffA", b'"q\\', b"a b"]
    file.write_bytes(b'ok="1"\nnot a token\n')
    with pytest.raises(CannotStart, match=r"x\.dict:2"):
        read_dictionary(file)
    with pytest.raises(CannotStart, match=r"engine\.dictionary"):
        read_dictionary(tmp_path / "none")
