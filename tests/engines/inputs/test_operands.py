"""Operands are put where the input has the other one: in bytes, in text, and in choices."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.drawn import RecordingInput, RecordingSource
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.inputs.operands import Kind, Operands, Scalar, edits_of_bytes, edits_of_choices
from fuzztui.engines.inputs.source import Source


def edits(
    data: bytes, value: Scalar, wanted: Scalar, kind: Kind = "equal", *, text: bool = True
) -> set[bytes]:
    pairs = [Operands(value, wanted, kind, 0)]
    return {e.data for e in edits_of_bytes(data, pairs, random.Random(1), text=text)}


@pytest.mark.parametrize(
    ("data", "value", "wanted", "kind", "expected"),
    [
        (b"<abc>", "abc", "table", "equal", {b"<table>"}),
        (b"<ABC>", "abc", "table", "equal", {b"<table>"}),
        (b"<abc>", "table", "abc", "equal", {b"<table>"}),
        (b"<abc>", "xyz", "table", "equal", set()),
        ("é=1".encode(), "é", "ü", "equal", {"ü=1".encode()}),
        (b"n=12", 12, 4096, "equal", {b"n=4096"}),
        (b"n=12", 12, 40, "order", {b"n=40", b"n=41", b"n=39"}),
        (b"n=ff", 255, 16, "equal", {b"n=10"}),
        (b"c=A", 65, 66, "equal", {b"c=B"}),
        (b"<abc>", "abc", "k", "member", {b"<k>"}),
        (b"abc", "k", "abc", "member", set()),
        (b"abc", "abc", "=", "inside", {b"=abc", b"abc=", b"a=bc"}),
        (b"abcd", "ab", "key", "prefix", {b"keycd", b"keyabcd"}),
        (b"abcd", "cd", "key", "suffix", {b"abkey", b"abcdkey"}),
        (b"abc", "abc", "\\d", "pattern", {b"\\d", b"\\dabc", b"abc\\d"}),
        (b"<abc>", "abc", 5, "length", {b"<abcab>", b"<abcabc>", b"<abca>"}),
        (b"", "", "key", "equal", {b"key"}),
        (b"aa", "", "b", "equal", {b"baa", b"aab"}),
        (b"ab", "ab", "", "equal", {b""}),
    ],
)
def test_text(data: bytes, value: Scalar, wanted: Scalar, kind: Kind, expected: set[bytes]) -> None:
    assert edits(data, value, wanted, kind) == expected


@pytest.mark.parametrize(
    ("data", "value", "wanted", "expected"),
    [
        ("a€c".encode("utf-16-le"), "a€c", "xyz", "xyz".encode("utf-16-le")),
        ("é".encode("latin-1"), "é", "ü", "ü".encode("latin-1")),
        (b"\x01\x02\x03\x04", 0x01020304, 5, b"\0\0\0\x05"),
        (b"\x04\x03\x02\x01", 0x01020304, 5, b"\x05\0\0\0"),
        (b"\x07", 7, 9, b"\x09"),
        (b"\xff\xfe", b"\xff", b"\x00", b"\x00\xfe"),
    ],
)
def test_bytes(data: bytes, value: Scalar, wanted: Scalar, expected: bytes) -> None:
    assert expected in edits(data, value, wanted, text=False)


def test_few_of_many_places() -> None:
    assert len(edits(b"a" * 100, "a", "b")) <= 3


# ------------------------------------------------------------------------------- choices


def make(source: Source) -> list[object]:
    """One value of each way to draw."""
    return [
        source.integer(-5, 100_000),
        source.choose(["red", "green", "blue"]),
        source.text("abcdefghijklmnopqrstuvwxyz", 0, 20),
        source.weighted([(3, "low"), (0, "never"), (250, "high")]),
        source.bytes(4),
        source.bytes(3, each=True),
        source.below(300),
        source.boolean(),
    ]


def build(generator: Callable[[Source], object], data: bytes, pool: ConstantPool | None) -> object:
    return generator(Source(data, 4096, bytes, pool))


POOLS = st.sampled_from(
    [None, ConstantPool(["green", "keyword"], [b"GIF8", b"abc"], [7, 42, 4096, 99_999])]
)


@given(st.binary(max_size=80), POOLS)
def test_recording_changes_nothing(data: bytes, pool: ConstantPool | None) -> None:
    recording = RecordingSource(data, 4096, bytes, pool)
    plain = Source(data, 4096, bytes, pool)
    assert make(recording) == make(plain)
    assert recording.drawn() == plain.drawn()


WANTED: list[tuple[int, Scalar]] = [
    (0, 4321),
    (0, -5),
    (1, "blue"),
    (2, "keyword"),
    (2, ""),
    (3, "high"),
    (4, b"GIF8"),
    (5, b"abc"),
    (6, 299),
]


@given(st.binary(max_size=80), POOLS, st.sampled_from(WANTED))
def test_a_draw_can_make_another_value(
    data: bytes, pool: ConstantPool | None, wanted: tuple[int, Scalar]
) -> None:
    """The choices around the draw stay, so all other values do."""
    at, value = wanted
    form = RecordingInput(make, 4096, bytes, None, pool)
    before = form.build(data)
    assert isinstance(before, list)
    (draw,) = [d for d in form.draws if d is form.draws[at]]
    assert draw.value == before[at]
    choices = draw.encode(value)
    assert choices is not None
    used = form.used(data)
    after = build(make, used[: draw.start] + choices + used[draw.end :], pool)
    assert after == [*before[:at], value, *before[at + 1 :]]


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, 100_001), (1, "black"), (2, "A"), (2, "a" * 21), (3, "never"), (4, b"12345"), (6, 300)],
)
def test_what_a_draw_cannot_make(at: int, value: Scalar) -> None:
    form = RecordingInput(make, 4096, bytes)
    form.build(b"")
    assert form.draws[at].encode(value) is None


def test_the_choice_that_drew_an_operand() -> None:
    form = RecordingInput.of(GeneratedInput(make, 4096, bytes))
    form.build(bytes([0, 0, 40, 1, 3, 10, 11, 12]))
    values = [d.value for d in form.draws[:3]]
    assert values == [35, "green", "klm"]
    data = form.used(b"")
    pairs = [
        Operands(35, 1000, "equal", 0),
        Operands("green", "blue", "equal", 1),
        Operands("l", "keyword", "member", 2),
        Operands("green", "black", "equal", 3),
    ]
    edits = edits_of_choices(data, form.draws, pairs, random.Random(1))
    found = [build(make, edit.data, None) for edit in edits]
    parts = {tuple(f[:3]) for f in found if isinstance(f, list)}
    assert parts == {(1000, "green", "klm"), (35, "blue", "klm"), (35, "green", "kkeywordm")}


# ---------------------------------------------------------------------------- strategies

STRATEGIES: list[tuple[st.SearchStrategy[Scalar], list[Scalar]]] = [
    (st.integers(), [0, -7, 4096, 1 << 40]),
    (st.integers(3, 100_000), [3, 4096, 100_000]),
    (st.integers(-5, 7), [-5, 0, 7]),
    (st.text(), ["", "need", "Ünïcode €", "a" * 20]),
    (st.text("abc", max_size=20), ["abc", "c" * 20]),
    (st.binary(), [b"", b"GIF8", bytes(range(20))]),
]
POOL = ConstantPool(["need", "abc"], [b"xy", b"long"], [0, 7, 300, -5, 1 << 40])


@given(st.data(), st.binary(max_size=60), st.sampled_from([None, POOL]))
def test_a_draw_of_a_strategy_can_make_another_value(
    data: st.DataObject, choices: bytes, pool: ConstantPool | None
) -> None:
    strategy, values = data.draw(st.sampled_from(STRATEGIES))
    value = data.draw(st.sampled_from(values))

    def pair(source: Source) -> object:
        return source.draw(st.tuples(st.booleans(), strategy, st.integers(0, 9)))

    form = RecordingInput(pair, 4096, bytes, None, pool)
    before = form.build(choices)
    assert before == build(pair, choices, pool), "recording changes nothing"
    assert isinstance(before, tuple)
    assert [d.value for d in form.draws] == [*before[1:]]
    encoded = form.draws[0].encode(value)
    if encoded is None:
        assert pool is not None
        assert isinstance(value, bytes)
        return
    used = form.used(choices)
    changed = used[: form.draws[0].start] + encoded + used[form.draws[0].end :]
    assert build(pair, changed, pool) == (before[0], value, before[2])


def test_what_a_strategy_cannot_make() -> None:
    form = RecordingInput(lambda r: r.draw(st.text("abc", max_size=3)), 4096, bytes)
    form.build(b"")
    assert [form.draws[0].encode(value) for value in ("abcd", "x")] == [None, None]
