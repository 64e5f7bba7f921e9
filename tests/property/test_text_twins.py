"""mutate.c and plain.py make the same bytes of everything, and draw the same numbers for it."""

from __future__ import annotations

from compiled_text import text_library
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.text import reference
from fuzztui.engines.text.native import load
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.table import MUTATORS

PIECES = sorted({piece for o in MUTATORS for piece in o.strings} | {b"x", b"foo", b"\0", b"\t"})
SEEDS = st.integers(0, 2**64 - 1)
COUNTS = st.integers(0, 2000) | st.integers(0, 2**64 - 1)
WISHES = st.integers(0, 2_000_000)

programs = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)
inputs = (
    programs
    | st.binary(max_size=2)
    | st.binary(max_size=50)
    | st.builds(lambda data, n: data * n, programs, st.integers(1, 500))
    | st.builds(lambda a, n, b: a + bytes(n) + b, programs, st.integers(0, 70_000), programs)
)


@given(inputs, SEEDS, st.integers(-60, 60) | st.just(10**9))
def test_every_operator(data: bytes, seed: int, growth: int) -> None:
    native = load(text_library())
    assert native.compiled, native.why
    limit = max(0, len(data) + growth)
    one, other = Rng(seed), Rng(seed)
    for op in range(-1, len(MUTATORS) + 1):
        made = reference.apply(data, limit, one, op)
        assert native.apply(data, limit, other, op) == made, op
        assert one.state == other.state
        assert made is None or (made != data and len(made) <= limit)


@given(programs, SEEDS, st.integers(0, 5000))
def test_a_stack_of_operators(data: bytes, seed: int, limit: int) -> None:
    native = load(text_library())
    one, other = Rng(seed), Rng(seed)
    twin = data
    for _ in range(50):
        op = one.below(len(MUTATORS))
        assert other.below(len(MUTATORS)) == op
        data = reference.apply(data, limit, one, op) or data
        twin = native.apply(twin, limit, other, op) or twin
        assert (data, one.state) == (twin, other.state)


@given(
    st.lists(st.tuples(COUNTS, COUNTS, WISHES, WISHES), max_size=70),
    st.integers(0, 2**63),
)
def test_the_bandit(counts: list[tuple[int, int, int, int]], prior: int) -> None:
    native = load(text_library())
    applied, found, base, floors = ([row[i] for row in counts] for i in range(4))
    weights = reference.weights(applied, found, base, floors, prior)
    assert native.weights(applied, found, base, floors, prior) == weights
    assert all(0 < weight <= 1_000_000 for weight in weights)
