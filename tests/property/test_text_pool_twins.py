"""pool.c, the reader in Python and the pool in memory splice the same bytes."""

from __future__ import annotations

from itertools import pairwise

import pool_reader
import pytest
from compiled_pool import pool_library
from hypothesis import given
from hypothesis import strategies as st
from native_pool import NativePool

from fuzztui.engines.text import poolfile
from fuzztui.engines.text.fragments import Fragments, Pool, balanced
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.syntax import Spans

KINDS = ("call", "identifier", "block", "number")
NAMES = ("field", "identifier")
PIECES = (b"(", b")", b"{", b"}", b"[", b"]", b'"', b"\\", b";", b"\n", b"ab", b"x", b"\0", b"\xff")

texts = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)
quoted = st.lists(st.sampled_from([b'"', b"\\", b"\n", b"a"]), min_size=4, max_size=30).map(
    b"".join
)
periodic = st.lists(st.sampled_from([b"a", b"ab", b"aab"]), max_size=20).map(b"".join)
seeds = st.integers(0, 2**64 - 1)


def places(draw, size: int, longest: int) -> tuple[int, int]:
    start = draw(st.integers(0, size - 1))
    return start, draw(st.integers(1, min(longest, size - start)))


@st.composite
def entries(draw) -> tuple[bytes, Spans]:
    """An input, and any spans of it: no grammar makes such odd ones."""
    data = draw(texts) * draw(st.integers(1, 4))
    if not data:
        return data, Spans()
    kinds = {
        kind: tuple(sorted({places(draw, len(data), 60) for _ in range(draw(st.integers(1, 4)))}))
        for kind in sorted(draw(st.sets(st.sampled_from(KINDS))))
    }
    names, at = [], 0
    while at < len(data) and len(names) < 12:
        at += draw(st.integers(0, 5))
        size = min(draw(st.integers(1, 3)), len(data) - at)
        if size > 0:
            names.append((at, size, draw(st.sampled_from(NAMES))))
        at += size
    edits = []
    for _ in range(draw(st.integers(0, 3))):
        start, size = places(draw, len(data), 9)
        edits.append((start, start + draw(st.integers(0, size)), draw(texts)))
    return data, Spans(kinds, tuple(names), tuple(sorted(set(edits))))


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """Writes a pool and gives it as it is read in Python and in C."""
    path = tmp_path_factory.mktemp("pool") / "pool"
    native = NativePool(pool_library(), str(path))

    def read(pool: Pool) -> tuple[Pool, NativePool]:
        poolfile.write(path, pool)
        native.refresh()
        assert native.trouble == ""
        return pool_reader.parse(path.read_bytes()), native

    yield read
    native.close()


@given(st.lists(entries(), min_size=1, max_size=5), seeds, st.integers(0, 400))
def test_a_stack_of_splices(readers, known, seed, room):
    fragments = Fragments()
    for data, spans in known:
        fragments.add(data, spans)
    read, native = readers(fragments.pool)
    for data, _ in known:
        outcomes = [
            stack(pool, data, known[0][0], seed, room) for pool in (fragments.pool, read, native)
        ]
        assert outcomes[1:] == outcomes[:-1]


def stack(pool, data: bytes, other: bytes, seed: int, room: int) -> list[tuple[bytes, int]]:
    """What ten steps make, and the generator after each."""
    rng, host, now, made = Rng(seed), pool.find(data), data, []
    limit = len(data) + room
    for _ in range(10):
        match rng.below(4):
            case 0 | 1:
                found = pool.splice(host, now, limit, rng)
            case 2:
                found = pool.template(host, now, limit, rng)
            case _:  # someone else's step
                at = rng.position(len(now) + 1)
                found = now[:at] + other[: rng.below(3)] + now[at + rng.below(4) :]
        now = now if found is None else found
        if rng.below(2):
            host.follow(now)
        made.append((now, rng.state))
    host.reset()
    made.append((pool.splice(host, data, limit, rng) or b"", rng.state))
    return made


@given(texts | quoted, texts | quoted, seeds, st.integers(-9, 400))
def test_balanced_delimiters(readers, one, other, seed, room):
    _, native = readers(Pool())
    a, b = Rng(seed), Rng(seed)
    limit = max(0, len(one) + room)
    for _ in range(30):
        made = balanced(one, limit, a, other)
        assert native.balanced(one, limit, b, other) == made
        assert a.state == b.state
        assert made is None or (made != one and len(made) <= limit)


@given(texts | periodic, seeds)
def test_segments_are_followed_alike(readers, data, seed):
    """Periodic data tell least where something was changed: parts must not overlap."""
    data, rng = data or b"a", Rng(seed)
    fragments = Fragments()
    fragments.add(data, Spans({"call": ((0, 1),)}))
    _, native = readers(fragments.pool)
    for _ in range(10):
        host, twin, now = fragments.pool.find(data), native.find(data), data
        assert host is not None
        assert twin is not None
        for _ in range(6):
            at = rng.position(len(now) + 1)
            now = now[:at] + b"aba"[: rng.below(4)] + now[at + rng.below(5) :]
            host.follow(now)
            twin.follow(now)
            segments = [(s.start, s.n, s.at) for s in twin.host.segment[: twin.host.segments]]
            assert segments == host._segments
            for before, after in pairwise(segments):
                assert before[0] + before[1] <= after[0]
                assert before[2] + before[1] <= after[2]


@given(st.lists(entries(), min_size=1, max_size=3), seeds)
def test_what_is_not_changed_is_where_it_was(known, seed):
    """A span that is said to stand somewhere stands there, byte for byte."""
    rng = Rng(seed)
    fragments = Fragments()
    for data, spans in known:
        fragments.add(data, spans)
    for data, _ in known:
        host, now = fragments.pool.find(data), data
        assert host is not None
        for _ in range(8):
            at = rng.position(len(now) + 1)
            now = now[:at] + b"ab;"[: rng.below(4)] + now[at + rng.below(5) :]
            host.follow(now)
            for start in range(len(data)):
                for size in (1, 3):
                    place = host.place(start, size) if start + size <= len(data) else -1
                    assert place < 0 or now[place : place + size] == data[start : start + size]
