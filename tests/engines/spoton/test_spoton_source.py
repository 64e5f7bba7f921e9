"""Typed sources: what choices are, and that children keep what was not mutated where it was."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoton_lab import Bench, File, Image, gen_day, gen_file

from fuzztui.engines.generators import generator, made_by
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.inputs.typed import Annotated, DrawnCall, Typed, TypeStacks, runs

MAGIC = ConstantPool(["abc", "fed", "not of that alphabet"], [], [2008, 1999])
DATE = "datetime.date"
IMAGE = f"{__name__.replace('test_spoton_source', 'spoton_lab')}.Image"


def with_inner(file: File) -> Iterator[File]:
    yield file
    if file.inner:
        yield from with_inner(file.inner)


@given(st.integers(0, 10**6), st.booleans())
def test_choices_by_index_make_the_same(seed: int, constants: bool) -> None:
    bench = Bench(magic=MAGIC if constants else None, seed=seed)
    data, value = bench.fresh()
    parent = bench.form.annotate(data)
    assert parent.data == data
    assert len(parent) == len(parent.start) - 1
    assert bench.child(data, parent) == (data, value)
    assert bench.told == [data]
    # Only what is expected is made by index, and only once.
    assert bench.form.build(data) == value
    plain = Source(data, 10240, lambda n: pytest.fail("it draws more"), bench.form._magic)
    assert gen_file(plain) == value


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans())
@settings(max_examples=200)
def test_what_was_drawn_makes_a_mutated_child_again(seed: int, chance: int, many: bool) -> None:
    bench, rng = Bench(magic=MAGIC, seed=seed), random.Random(chance)
    data, _ = bench.fresh()
    parent = bench.form.annotate(data)
    mutated = bytearray(data)
    for _ in range(20 if many else 1):
        mutated[rng.randrange(len(data))] = rng.randrange(256)
    drawn, value = bench.child(bytes(mutated), parent)
    assert gen_file(Source(drawn, 10240, lambda n: pytest.fail("it draws more"), MAGIC)) == value
    assert bench.form.annotate(drawn).data == drawn


@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=40))
def test_only_the_type_changes_whose_choices_do(seed: int, chance: bytes) -> None:
    """Images of another size, so that all later choices lie elsewhere."""
    bench = Bench(seed=seed)
    data, value = bench.fresh()
    parent = bench.form.annotate(data)
    stacks = {n for n in set(parent.stack) if IMAGE in bench.form.stacks.types(n)}
    mutated = bytearray(data)
    for run in runs(parent, stacks):
        for at, choice in enumerate(run):
            mutated[parent.start[choice]] = chance[at % len(chance)]
    drawn, child = bench.child(bytes(mutated), parent)
    assert isinstance(value, File)
    for old, new in zip(with_inner(value), with_inner(child), strict=True):
        old.image = new.image = Image([])
    assert child == value
    assert bench.form.build(drawn) is not None


def test_choices_in_a_row_shift_where_those_by_index_do_not() -> None:
    """What the paper has indexes for: the same mutation on the plain sequence."""
    kept = shifted = 0
    for seed in range(40):
        bench = Bench(seed=seed)
        data, value = bench.fresh()
        parent = bench.form.annotate(data)
        mutated = bytearray(data)
        mutated[parent.start[0]] ^= 7  # the length of the name
        _, child = bench.child(bytes(mutated), parent)
        kept += child.modified == value.modified
        shifted += bench.form.build(bytes(mutated)).modified != value.modified
    assert kept == 40
    assert shifted > 20


def test_indexes_outlive_what_the_interpreter_makes_of_hot_code() -> None:
    """CPython specialises instructions; an annotation from before is still good."""
    source = (
        "def gen(r):\n"
        "    return [[r.below(9), r.text('ab', 0, 3), r.choose('xyz')] for _ in r.more(2, 9)]\n"
    )
    scope: dict[str, object] = {}
    exec(source, scope)
    bench = Bench(generator(scope["gen"]))
    data, value = bench.fresh()
    cold = bench.form.annotate(data)
    for _ in range(2000):
        bench.fresh()
    assert bench.child(data, cold) == (data, value)
    (hot,), (before,) = bench.form.annotate(data).sites.values(), cold.sites.values()
    assert list(hot.sites) == list(before.sites)


def calls_of(parent: Annotated) -> Iterator[DrawnCall]:
    """All calls of generators, some of them more than once."""
    for call in (*parent.sites.values(), *parent.after.values()):
        if isinstance(call, DrawnCall):
            yield call
            yield from calls_of(replace(parent, sites=call.sites, after={}))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_is_replayed_is_what_is_found_by_index(seed: int, chance: int) -> None:
    rng, children = random.Random(chance), []
    changed = [(rng.random(), rng.randrange(256)) for _ in range(1 + rng.randrange(4))]
    for replays in (True, False):
        bench = Bench(magic=MAGIC, seed=seed)
        data, _ = bench.fresh()
        parent, mutated = bench.form.annotate(data), bytearray(data)
        for at, value in changed:
            mutated[int(at * len(data))] = value
        for call in calls_of(parent):
            assert call.data == data[call.start : call.end]
            if not replays:
                call.function = None
        children.append(bench.child(bytes(mutated), parent))
    assert children[0] == children[1]


def test_a_call_with_other_arguments_is_not_replayed() -> None:
    @generator
    def inner(r: Source, more: bool, *, last: bool) -> list[int]:
        found = [r.below(256) for _ in range(3)] if more else []
        return [*found, r.below(256), *([r.below(256)] if last else [])]

    @generator
    def outer(r: Source) -> tuple[list[int], int]:
        return inner(r, r.below(2) > 0, last=r.below(2) > 0), r.below(256)

    bench = Bench(outer)
    parent = bench.form.annotate(b"\0\0\1\2")
    assert bench.child(b"\0\0\1\2", parent)[1] == ([1], 2)
    found, end = bench.child(b"\1\0\1\2", parent)[1]
    assert (len(found), found[3], end) == (4, 1, 2)
    found, end = bench.child(b"\0\1\1\2", parent)[1]
    assert (len(found), found[0], end) == (2, 1, 2)


def test_a_call_that_draws_after_its_end_is_not_replayed() -> None:
    @generator
    def numbers(r: Source) -> Iterator[int]:
        while True:
            yield r.below(256)

    @generator
    def begun(r: Source) -> tuple[int, Iterator[int]]:
        found = numbers(r)
        return next(found), found

    @generator
    def outer(r: Source) -> list[int]:
        first, others = begun(r)
        return [first, r.below(256), next(others)]

    bench = Bench(outer)
    parent = bench.form.annotate(b"\1\2\3")
    assert bench.child(b"\1\7\3", parent)[1] == [1, 7, 3]


def test_type_stacks_and_where_types_are() -> None:
    bench = Bench()
    data, _ = bench.fresh()
    parent = bench.form.annotate(data)
    stacks = bench.form.stacks
    names = [stacks.types(n) for n in parent.stack]
    file = IMAGE.replace("Image", "File")
    assert names[0] == (file, f"{file}.name")
    dates = list(runs(parent, {n for n in parent.stack if DATE in stacks.types(n)}))
    assert all(len(run) == 3 for run in dates)
    assert made_by(gen_day) == (DATE,)
    # A recursive generator adds nothing: there are no more stacks than sets of types.
    assert len(stacks) < 30


def test_stack_of_a_type_that_is_there_is_itself() -> None:
    stacks = TypeStacks()
    one = stacks.push(0, "a.A")
    two = stacks.push(one, "b.B")
    assert stacks.push(two, "a.A") == two
    assert stacks.push(0, "a.A") == one
    assert stacks.types(two) == ("a.A", "b.B")


def test_scopes_are_left_when_generators_fail() -> None:
    class Inner:
        pass

    @generator(Inner)
    def fails(r: Source) -> Inner:
        r.assume(r.below(256) < 128)
        if r.below(2):
            raise ValueError("no")
        return Inner()

    @generator
    def date_after_all(r: Source) -> datetime.date:
        for _ in range(30):
            try:
                fails(r)
            except (Rejected, ValueError):
                continue
        return gen_day(r)

    bench = Bench(date_after_all)
    data, value = bench.fresh()
    parent = bench.form.annotate(data)
    assert bench.form.stacks.types(parent.stack[-1]) == (DATE,)
    assert bench.child(data, parent) == (data, value)
    source = Typed(b"", 4, bytes, TypeStacks())
    with pytest.raises(Rejected):
        date_after_all(source)
    assert source._stack == 0


def test_a_generator_that_is_left_early() -> None:
    @generator
    def steps(r: Source) -> Iterator[datetime.date]:
        while True:
            yield gen_day(r)

    @generator
    def two(r: Source) -> list[int]:
        both = []
        for at, day in enumerate(steps(r)):
            both.append(r.below(100) + day.year)
            if at:
                break
        return both

    bench = Bench(two)
    data, value = bench.fresh()
    parent = bench.form.annotate(data)
    assert [len(bench.form.stacks.types(n)) for n in parent.stack] == [1, 1, 1, 0, 1, 1, 1, 0]
    assert bench.child(data, parent) == (data, value)


def test_what_a_generator_that_yields_returns() -> None:
    @generator
    def inner(r: Source) -> Iterator[int]:
        yield r.below(3)
        return "end"

    @generator
    def outer(r: Source) -> Iterator[object]:
        yield (yield from inner(r))

    for source in (Source(b"", 99, bytes), Typed(b"", 99, bytes, TypeStacks())):
        assert list(outer(source)) == [0, "end"]


def test_a_block_that_grows_keeps_its_bytes() -> None:
    @generator
    def block(r: Source) -> bytes:
        return r.bytes(r.integer(4, 9))

    bench = Bench(block)
    data, value = bench.fresh()
    parent = bench.form.annotate(data)
    mutated = bytes([5]) + data[1:]  # 9 bytes
    _, longer = bench.child(mutated, parent)
    assert len(longer) == 9
    assert longer.startswith(value)


def test_too_much_is_rejected_also_by_index() -> None:
    bench = Bench()
    bench.form._limit = 30
    data = b"\0" * 30
    with pytest.raises(Rejected):
        bench.child(data, Bench().form.annotate(Bench().fresh()[0]))
    assert len(bench.form.used(data)) <= 30


def test_decorating_what_is_none() -> None:
    with pytest.raises(TypeError, match="decorate a function, or give types"):
        generator(7)
    with pytest.raises(TypeError, match="not a function"):
        generator(Image)(Image)


def test_a_parameter_that_is_known_to_a_type_checker_only() -> None:
    def gen(r: Source, n: NotThere = 0) -> datetime.date:  # noqa: F821
        return gen_day(r)

    assert made_by(gen) == (DATE,)


def test_constants_are_choices() -> None:
    rng = random.Random(3)
    texts, years = set(), set()
    for _ in range(300):
        r = Source(b"", 100, rng.randbytes, MAGIC)
        texts.add(r.text("abcdef", 0, 5))
        years.add(r.integer(1990, 2020))
    assert {"abc", "fed"} <= texts
    assert "not of that alphabet" not in texts
    assert len(years) > 20
    half = [Source(b"", 9, rng.randbytes, MAGIC).integer(1990, 2020) for _ in range(400)]
    assert 150 < sum(year in (2008, 1999) for year in half) < 260
    assert Source(bytes([1, 0]), 9, bytes, MAGIC).integer(1990, 2020) == 1999
    assert Source(bytes([1]), 9, bytes, MAGIC).integer(2000, 2015) in range(2000, 2016)
    assert MAGIC.texts(["a", "b"], 0, 9) == []


def test_blocks_and_each() -> None:
    magic = ConstantPool(blocks=[b"PK\3\4", b"xx"])
    assert Source(bytes([1, 0]), 99, bytes, magic).bytes(4) == b"PK\3\4"
    assert Source(bytes([0]) + b"abcd", 99, bytes, magic).bytes(4) == b"abcd"
    assert Source(b"abc", 99, bytes, magic).bytes(3, each=True) == b"abc"
    stacks = TypeStacks()
    for each, count in ((False, 1), (True, 3)):
        typed = Typed(b"abc", 99, bytes, stacks)
        assert typed.bytes(3, each=each) == b"abc"
        assert len(typed.annotated()) == count
    assert len(Typed(b"", 99, bytes, stacks).annotated()) == 0


def test_texts_at_one_site_keep_their_rows() -> None:
    @generator
    def texts(r: Source) -> list[str]:
        return [r.text("abcd", 0, 3) for _ in range(3)]

    bench = Bench(texts)
    parent = bench.form.annotate(b"\0" + b"\2\1\2" + b"\1\3")
    assert bench.child(b"\0" + b"\2\1\2" + b"\1\3", parent)[1] == ["", "bc", "d"]
    assert bench.child(b"\1" + b"\2\1\2" + b"\1\3", parent)[1][1:] == ["bc", "d"]


def test_empty_rows_are_not_taken_for_each_other() -> None:
    @generator
    def rows(r: Source) -> list[bytes]:
        sizes = [r.below(3) for _ in range(3)]
        return [r.bytes(n, each=True) for n in sizes] + [r.bytes(n, each=True) for n in sizes]

    bench = Bench(rows)
    data = b"\0\0\2" + b"ab" + b"cd"
    parent = bench.form.annotate(data)
    first, _, third, fourth, _, last = bench.child(b"\0\1\2" + b"ab" + b"cd", parent)[1]
    assert [first, third, fourth, last] == [b"", b"ab", b"", b"cd"]


def test_a_text_that_becomes_a_constant_shifts_no_choices_but_rows() -> None:
    @generator
    def texts(r: Source) -> list[str]:
        return [r.text("abcd", 0, 3) for _ in range(3)]

    bench = Bench(texts, magic=ConstantPool(["dab"], [], []))
    parent = bench.form.annotate(b"\0\3\0\0\0" + b"\0\1\1" + b"\0\2\2\2")
    first, *others = bench.child(b"\1\3\0\0\0" + b"\0\1\1" + b"\0\2\2\2", parent)[1]
    assert first == "dab"
    assert [len(text) for text in others] == [1, 2]
