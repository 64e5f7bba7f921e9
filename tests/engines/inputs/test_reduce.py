"""Making failing inputs smaller: of choices and of bytes, by toy generators and predicates."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzztui.engines.inputs.attempts import Attempt
from fuzztui.engines.inputs.reduce import Reducer
from fuzztui.engines.inputs.simplify import Simplifier
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.process.input_runner import NotedInput, draws_of

Generator = Callable[[Source], Any]


class Bench:
    """A generator and what fails, as the engine would have it, without its processes."""

    def __init__(self, generator: Generator, fails: Callable[[Any], bool], limit: int = 0) -> None:
        self.zeros = self.short = False
        self.form = NotedInput(generator, 1 << 16, self.more)
        self.fails = fails
        self.asked: list[bytes] = []
        self.limit = limit

    def more(self, n: int) -> bytes:
        if not self.zeros:
            self.short = True
            raise Rejected
        return bytes(n)

    def attempt(self, data: bytes) -> Attempt:
        self.asked.append(data)
        if self.limit and len(self.asked) > self.limit:
            raise TimeoutError
        self.short = False
        return self.attempted(data)

    def attempted(self, data: bytes) -> Attempt:
        try:
            alike = self.fails(self.form.build(data))
        except Rejected:
            alike = False
        return Attempt(alike, self.form.used(data), *draws_of(self.form.notes), self.short)

    def redraw(self, data: bytes, like: bytes) -> Attempt:
        self.form.expect(data, self.form.annotate(like))
        self.zeros = True
        try:
            return self.attempted(data)
        finally:
            self.zeros = False

    def reduced(self, data: bytes) -> tuple[bytes, Any]:
        """The smallest, and what it makes."""
        first = self.attempt(data)
        assert first.alike
        reducer = Simplifier(first, self.attempt, self.redraw)
        try:
            reducer.run()
        except TimeoutError:
            assert self.limit
        best = reducer.best
        again = self.form.build(best.data)
        assert self.fails(again)
        assert self.form.used(best.data) == best.data
        assert len(best.draws) <= len(first.draws)
        return best.data, again


def numbers(r: Source) -> list[int]:
    return [r.integer(0, 1000) for _ in range(r.integer(0, 40))]


def words(r: Source) -> list[str]:
    return [r.text("abcdefgh", 0, 12) for _ in r.more()]


def keyed(r: Source) -> list[tuple[str, int]]:
    return [(r.choose(["open", "shut", "look"]), r.integer(0, 90)) for _ in r.more()]


def switched(r: Source) -> list[int]:
    """Choices here and there that one at the beginning decides about."""
    noisy = r.below(256)
    made = []
    for _ in r.more():
        if noisy:
            r.below(4)
        made.append(r.below(100))
    return made


def sized(r: Source) -> tuple[int, int]:
    return r.below(1 << 8 * (1 << r.below(5))), r.below(256)


def reopened(steps: list[tuple[str, int]]) -> bool:
    opened = set()
    for what, key in steps:
        if what == "open":
            opened.add(key)
        elif what == "shut" and key in opened and key > 3:
            return True
    return False


CASES: dict[str, tuple[Generator, Callable[[Any], bool], Any]] = {
    "a large one": (numbers, lambda xs: any(x > 500 for x in xs), [501]),
    "two in order": (numbers, lambda xs: sorted(xs) != xs, [1, 0]),
    "a sum": (numbers, lambda xs: sum(xs) > 1500, None),
    "one letter": (words, lambda xs: any("e" in x for x in xs), ["e"]),
    "three words": (words, lambda xs: len(xs) > 2, ["", "", ""]),
    "the same key": (keyed, reopened, [("open", 4), ("shut", 4)]),
    "a switch": (switched, lambda xs: len(xs) > 2 and xs[-1] > 9, [0, 0, 10]),
    "a size": (sized, lambda pair: pair[1] > 7, (0, 8)),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("case", CASES)
def test_choices_become_the_simplest_ones(case: str, seed: int) -> None:
    """From whatever is found by chance."""
    generator, fails, simplest = CASES[case]
    rng = random.Random(seed)
    bench = Bench(generator, fails)
    data = next(d for d in iter(lambda: rng.randbytes(800), b"") if bench.attempt(d).alike)
    _, made = bench.reduced(data)
    assert simplest is None or made == simplest


@given(st.binary(min_size=1, max_size=120), st.integers(1, 300))
@settings(deadline=None, max_examples=60)
def test_the_same_again_within_any_limit(data: bytes, limit: int) -> None:
    def made_of(r: Source) -> list[int]:
        return [r.integer(0, 700) for _ in range(r.below(20))]

    def fails(xs: list[int]) -> bool:
        return sum(xs) % 5 == total % 5

    bench = Bench(made_of, lambda xs: True)
    if not bench.attempt(data).alike:
        return
    total = sum(bench.form.build(data))  # type: ignore[call-overload]
    one, other = (Bench(made_of, fails, limit) for _ in range(2))
    assert one.reduced(data) == other.reduced(data)
    assert one.asked == other.asked
    assert len(one.asked) <= limit + 1


@given(st.binary(max_size=200), st.sets(st.integers(0, 255), max_size=4))
def test_bytes_are_removed_or_become_plain(data: bytes, needed: set[int]) -> None:
    wanted = needed & set(data)
    tried: list[bytes] = []

    def attempt(smaller: bytes) -> Attempt:
        tried.append(smaller)
        return Attempt(wanted <= set(smaller) and len(smaller) >= len(data) // 2, smaller)

    reducer = Reducer(attempt(data), attempt)
    reducer.run()
    best = reducer.best.data
    assert len(best) == max(len(wanted), len(data) // 2)
    assert sorted(best.replace(b"0", b"")) == sorted(wanted - {ord("0")})
    assert len(tried) == len(set(tried))


def test_what_is_not_known_of_choices() -> None:
    """A target that kills its process tells nothing: each byte is taken for a choice."""

    def attempt(data: bytes) -> Attempt:
        return Attempt(len(data) > 2 and data[2] > 6, data)

    start = attempt(bytes(range(50, 90)))
    reducer = Simplifier(start, attempt, lambda data, like: attempt(data))
    reducer.run()
    assert reducer.best.data == b"\0\0\7"


def test_unknown_choices_stay_bytes() -> None:
    """One is lowered and another raised: beyond 255 there is no such input."""

    def attempt(data: bytes) -> Attempt:
        return Attempt(data[:4] == b"\xf0\x20\xf0\x90", data)

    start = attempt(b"\xf0\x20\xf0\x90\0\1")
    reducer = Simplifier(start, attempt, lambda data, like: attempt(data))
    reducer.run()
    assert reducer.best.data == b"\xf0\x20\xf0\x90"


def test_one_of_several_that_are_lowered_together_may_become_narrower() -> None:
    """Its width depends on another one of them."""

    def paired(r: Source) -> tuple[int, int]:
        a = r.below(1 << 16)
        return a, r.below(1 << 16 if a > 511 else 1 << 8)

    def fails(pair: tuple[int, int]) -> bool:
        a, b = pair
        return a == b if a > 511 else a > 299 and b == 1

    assert Bench(paired, fails).reduced((1000).to_bytes(2, "big") * 2)[1] == (300, 1)
