"""What each text mutator does, in words and by example, in C and in Python."""

import ctypes.util
import re
from pathlib import Path

import pytest
from compiled_text import text_library

from fuzztui.engines.text import reference
from fuzztui.engines.text.native import MutatorLibrary, load
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.table import ARMS, MUTATORS, NAMES, TABLE, TextMutatorKind, parse

LIMIT = 1 << 20
SEEDS = range(150)
"""Enough for every one of a handful of occurrences to be drawn."""


@pytest.fixture(params=["native", "plain"])
def mutators(request) -> MutatorLibrary:
    return load(text_library() if request.param == "native" else "")


# Words: what is meant. Then an input, and all that may come of it: an mutator changes one
# occurrence, and each of them sooner or later.
EFFECTS = [
    ("insert-if-false", "the statement behind a line's end is not executed any more",
     b"a;\nb;\n", [b"a;\nif (0==1)\nb;\n", b"a;\nb;\nif (0==1)\n"]),
    ("insert-not", "a condition, or an argument, is negated",
     b"if (f(x))", [b"if (!f(x))", b"if (f(!x))"]),
    ("eq-to-ne", "equal: unequal", b"a==b==c", [b"a!=b==c", b"a==b!=c"]),
    ("ne-to-eq", "unequal: equal", b"a!=b, !c", [b"a==b, !c"]),
    ("eq-to-lt", "equal: less", b"a==b", [b"a<b"]),
    ("lt-to-eq", "less: equal", b"a<b<c", [b"a==b<c", b"a<b==c"]),
    ("eq-to-gt", "equal: greater", b"a==b", [b"a>b"]),
    ("gt-to-eq", "greater: equal", b"a>b", [b"a==b"]),
    ("assign-to-lt", "an assignment: a comparison", b"a=b", [b"a<b"]),
    ("assign-to-gt", "an assignment: a comparison", b"a=b", [b"a>b"]),
    ("lt-to-gt", "less: greater", b"a<b<c", [b"a>b<c", b"a<b>c"]),
    ("gt-to-lt", "greater: less", b"a>b", [b"a<b"]),
    ("inc-to-dec", "up: down", b"i++; ++j;", [b"i--; ++j;", b"i++; --j;"]),
    ("dec-to-inc", "down: up", b"i--", [b"i++"]),
    *[(f"{one}-to-{other}", "another arithmetic operator",
       b"a%cb" % sign, [b"a%cb" % instead])
      for one, sign in zip(("add", "sub", "mul", "div", "mod"), b"+-*/%", strict=True)
      for other, instead in zip(("add", "sub", "mul", "div", "mod"), b"+-*/%", strict=True)
      if one != other],
    ("insert-break", "a loop ends behind a line's end", b"a;\nb;", [b"a;\nbreak;\nb;"]),
    ("insert-continue", "a loop continues there", b"a;\nb;", [b"a;\ncontinue;\nb;"]),
    ("zero-to-one", "another digit", b"100", [b"110", b"101"]),
    ("one-to-zero", "another digit", b"101", [b"001", b"100"]),
    ("if-to-while", "a loop in place of a condition, and of nothing else (39 is another one)",
     b"\nif (x)", [b"\nwhile (x)"]),
    ("while-to-if", "a condition in place of a loop: this one does not fall through to 40",
     b"\nwhile (x)", [b"\nif (x)"]),
    ("insert-while-true", "what is behind a line's end is done for ever",
     b"a;\nb;", [b"a;\nwhile(1==1)\nb;"]),
    ("and-to-or", "and: or", b"a && b", [b"a || b"]),
    ("or-to-and", "or: and", b"a || b", [b"a && b"]),
    ("drop-not", "no negation", b"!a != b", [b"a != b", b"!a = b"]),
    ("delete-statement", "a statement between two others is gone",
     b"a; b; c; d;", [b"a; c; d;", b"a; b; d;", b"a; b; c;"]),
    ("delete-statement-after-block", "the statement behind a block is gone",
     b"{} b; c;", [b"{} c;"]),
    ("delete-block", "a block is gone", b"f{ a }g{b}", [b"fg{b}", b"f{ a }g"]),
    ("empty-block", "a block has nothing in it", b"f{ a }{}", [b"f{}{}"]),
    ("swap-statements", "two statements change places",
     b"{a; b; c; d;", [b"{a; c; b; d;", b"{a; b; d; c;"]),
    ("swap-statements-after-block", "the two statements behind a block change places",
     b"} a; b; c;", [b"} b; a; c;"]),
    ("swap-args", "the only two arguments change places", b"f(a,bc) g()", [b"f(bc,a) g()"]),
    ("swap-args-first", "the first two arguments change places",
     b"f(a,bc,d)", [b"f(bc,a,d)"]),
    ("swap-args-inner", "two arguments in the middle change places",
     b"f(a,bc,d,e)", [b"f(a,d,bc,e)"]),
    ("swap-args-last", "the last two arguments change places",
     b"f(a,bc,d)", [b"f(a,d,bc)"]),
    ("delete-line", "a line is gone, and its neighbours stay lines of their own",
     b"a\nb\nc\n", [b"a\nc\n", b"a\nb\n"]),
    ("delete-word", "a word, such as const, is gone, and its neighbours stay words",
     b"static const int x", [b"static int x", b"static const x"]),
    ("delete-first-word-of-line", "a line's first word is gone, and its indentation is not",
     b"f\n    const int x;", [b"f\n    int x;"]),
    ("delete-first-word-in-parens", "such as an argument's type",
     b"f( const int x)", [b"f( int x)"]),
    ("swap-words", "two words change places, whatever blanks there are",
     b"a  b c \t d e", [b"a  c b \t d e", b"a  b d \t c e"]),
    ("swap-words-last", "the last two words in parentheses change places",
     b"f(a  b c)", [b"f(a  c b)"]),
    ("swap-words-first", "the first two words in parentheses change places",
     b"f(a b c)", [b"f(b a c)"]),
    ("swap-words-in-parens", "the only two words in parentheses change places",
     b"f( a b)", [b"f( b a)"]),
    ("duplicate-line", "a line is there twice",
     b"a\nb\nc\n", [b"a\nb\nb\nc\n", b"a\nb\nc\nc\n"]),
    ("duplicate-to-brace", "a line's end and all up to a brace are there twice",
     b"a\n if (x) { b }\nc", [b"a\n if (x) { b }\n if (x) { b }\nc"]),
]  # fmt: skip


def results(
    mutators: MutatorLibrary, data: bytes, name: str, limit: int = LIMIT
) -> set[bytes | None]:
    number = NAMES.index(name)
    return {mutators.apply(data, limit, Rng(seed), number) for seed in SEEDS}


def test_every_mutator_has_its_example():
    assert sorted(name for name, *_ in EFFECTS) == sorted(NAMES)
    assert len(NAMES) == len(EFFECTS) == 64
    assert (*NAMES, "template", "fragment", "balanced", "havoc") == ARMS


@pytest.mark.parametrize(("name", "words", "data", "allowed"), EFFECTS, ids=[e[0] for e in EFFECTS])
def test_effect(mutators, name, words, data, allowed):
    # An occurrence may be such that nothing comes of it (an empty block that is emptied).
    assert results(mutators, data, name) - {None} == set(allowed), words


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [b"", b"\0", b"\0x\xff", b"x" * 5000])
def test_one_that_does_not_apply_says_so(mutators, name, data):
    assert results(mutators, data, name) == {None}


@pytest.mark.parametrize("mutator", MUTATORS, ids=NAMES)
def test_it_needs_all_its_delimiters(mutators, mutator):
    """A failed span mutator of the released tool went on with strings of the one before."""
    for number in range(len(mutator.delimiters)):
        rest = mutator.delimiters[:number] + mutator.delimiters[number + 1 :]
        data = b"xy".join((b"", *rest, b""))
        if mutator.delimiters[number] not in rest:
            assert results(mutators, data, mutator.name) == {None}, data


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("swap-args", b"f(a,a)"),
        ("swap-statements", b";;;"),
        ("swap-args-first", b"(,,"),
        ("swap-words", b" a a "),
        ("empty-block", b"{}"),
    ],
)
def test_what_would_change_nothing_does_not_apply(mutators, name, data):
    assert results(mutators, data, name) == {None}


def test_nul_is_a_byte_like_any_other(mutators):
    assert results(mutators, b"\0a==b\0", "eq-to-ne") == {b"\0a!=b\0"}
    assert results(mutators, b"(\0a,b\0)", "swap-args") == {b"(b\0,\0a)"}


def test_one_byte_is_enough(mutators):
    assert results(mutators, b"0", "zero-to-one") == {b"1"}
    assert results(mutators, b"!", "drop-not") == {b""}


def test_far_away_delimiters(mutators):
    """The released tool looked no further than 1,024 bytes."""
    long = b"x" * 100_000
    assert results(mutators, b"{" + long + b"}", "delete-block") == {b""}
    swapped = mutators.apply(b"(" + long + b",b)", LIMIT, Rng(1), NAMES.index("swap-args"))
    assert swapped == b"(b," + long + b")"


@pytest.mark.parametrize(
    ("name", "data", "made"),
    [
        ("insert-not", b"(a", b"(!a"),
        ("duplicate-line", b"\na\n", b"\na\na\n"),
        ("swap-args", b"(a,b)", b"(b,a)"),
        ("delete-block", b"{a}b", b"b"),
    ],
)
def test_the_limit(mutators, name, data, made):
    assert results(mutators, data, name, len(made)) == {made}
    assert results(mutators, data, name, len(made) - 1) == {None}
    assert results(mutators, data, name, 2**70) == {made}
    assert results(mutators, data, name, -1) == {None}


def test_there_are_no_other_mutators(mutators):
    assert mutators.apply(b"(a,b)", LIMIT, Rng(1), -1) is None
    assert mutators.apply(b"(a,b)", LIMIT, Rng(1), len(NAMES)) is None


# --------------------------------------------------------------------------- generator


def test_the_generator_is_splitmix64():
    """Vigna's reference implementation, seed 1234567."""
    rng = Rng(1234567)
    assert [rng.next() for _ in range(3)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
    ]  # fmt: skip
    assert Rng(-1).state == Rng(2**64 - 1).state
    assert {Rng(seed).below(3) for seed in range(50)} == {0, 1, 2}
    assert 0 <= Rng(1).position(2**40) < 2**40


# ------------------------------------------------------------------------------ bandit


EVEN = [1] * 64


def test_who_finds_more_is_drawn_more(mutators):
    weights = mutators.weights([900] * 64, [20, 3, *[0] * 62], EVEN, EVEN, 1000)
    assert weights[0] > 3 * weights[1] > 6 * weights[2]
    assert sum(weights) == pytest.approx(1_000_000, rel=0.2)
    assert min(weights) >= 1_000_000 // 64 // 5


def test_nobody_is_given_up(mutators):
    weights = mutators.weights([10**6] * 64, [10**5, *[0] * 63], EVEN, EVEN, 1000)
    assert weights[0] > 900_000
    assert set(weights[1:]) == {1_000_000 // 64 // 5}


def test_the_wished_weight_holds_also_for_who_finds_nothing(mutators):
    """One finds everything; the others are drawn in the proportions of their wishes."""
    wish = [1000, 1000, 2000, 500, 100_000, 0, *[1000] * 58]
    _, plain, double, half, hundred, none, *_ = mutators.weights(
        [900] * 64, [10**4, *[0] * 63], wish, wish, 1000
    )
    assert double == pytest.approx(2 * plain, rel=0.01)
    assert half == pytest.approx(plain / 2, rel=0.01)
    assert hundred == pytest.approx(100 * plain, rel=0.01)
    assert none == 1


def test_what_has_no_effect_keeps_the_floor_of_its_weight(mutators):
    weights = mutators.weights(
        [900] * 4, [9] * 4, [0, 0, 1000, 1000], [1000, 3000, 1000, 1000], 1000
    )
    assert weights[1] == pytest.approx(3 * weights[0], rel=0.01)
    assert weights[0] == 1_000_000 // 6 // 5


def test_what_is_not_known_is_as_it_was_wished(mutators):
    wish = [250_000, 500_000, 250_000]
    assert mutators.weights([0, 0, 0], [0, 0, 0], wish, [1, 1, 1], 20_000) == wish
    assert mutators.weights([90_000, 30_000, 0], [0, 0, 0], wish, [1, 1, 1], 20_000) == wish, (
        "no finds"
    )
    # An arm that can do nothing does not win by that.
    none = mutators.weights([10_000, 30_000, 0], [10, 30, 0], wish, [1, 1, 1], 20_000)
    assert none == pytest.approx(wish, rel=0.01)


def test_who_finds_as_much_as_the_others_keeps_what_was_wished(mutators):
    wish = [700_000, 200_000, 100_000]
    weights = mutators.weights([70_000, 20_000, 10_000], [700, 200, 100], wish, [1, 1, 1], 20_000)
    assert weights == pytest.approx(wish, rel=0.01)


def test_a_find_that_may_be_luck_does_not_move_much(mutators):
    untried, barren, lucky = mutators.weights([0, 900, 900], [0, 0, 1], [1, 1, 1], [1, 1, 1], 1000)
    assert barren < untried < lucky < 3 * barren


def test_three_classes_keep_a_twentieth_each(mutators):
    for wish in ([1, 1, 1], [1_000_000, 0, 0], [0, 0, 0]):
        weights = mutators.weights([30_000] * 3, [5000, 0, 0], wish, [1, 1, 1], 20_000)
        assert min(weights) / sum(weights) > 0.05


def test_windows_beyond_all_bounds(mutators):
    most = 2**64 - 1
    for row in ([most, 0], [0, most], [most, most]):
        for prior in (0, 1, most):
            weights = mutators.weights(row, row[::-1], [most, most], [most, most], prior)
            assert 100_000 <= min(weights) <= max(weights) <= 1_000_000
    assert mutators.weights([], [], [], [], 1) == []
    with pytest.raises(ValueError):
        mutators.weights([1], [], [1], [1], 1)
    with pytest.raises(ValueError):
        mutators.weights([1], [1], [1], [], 1)


# ----------------------------------------------------------------------------- loading


def test_without_a_library_there_are_those_in_python():
    assert (load("").compiled, load("").why) == (False, "")
    native = load(text_library())
    assert (native.compiled, native.why) == (True, "")
    assert load("/no/such.so").why.startswith("/no/such.so: ")


def test_a_library_of_another_version_is_not_used(tmp_path, monkeypatch):
    libm = ctypes.util.find_library("m")
    assert "not a library of text mutators" in load(libm).why
    monkeypatch.setattr("fuzztui.engines.text.native.NAMES", NAMES[:-1])
    assert not load(text_library()).compiled
    assert "another version" in load(text_library()).why


# ------------------------------------------------------------------------------- table


def test_the_table_is_read_as_c_reads_it():
    native = load(text_library())
    assert native.compiled  # the names are compared when it is loaded
    made = parse('/* a\n b */\nFT_SPAN("a-1", "\\n", "\\"\\\\", "")\n')
    assert [(o.name, o.kind, o.strings) for o in made] == [
        ("a-1", TextMutatorKind.SPAN, (b"\n", b'"\\', b""))
    ]
    assert parse(TABLE.read_text()) == MUTATORS


def test_each_line_of_the_table_is_a_mutator():
    text = re.sub(r"/\*.*?\*/", "", TABLE.read_text(), flags=re.DOTALL)
    assert len(MUTATORS) == sum(bool(line.strip()) for line in text.splitlines())
    assert len(set(NAMES)) == len(NAMES)
    strings = {"REPLACE": 2, "SPAN": 3, "SWAP": 3, "DUPLICATE": 2}
    for mutator in MUTATORS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutator.name)
        assert len(mutator.strings) == strings[mutator.kind.name], mutator.name
        assert all(mutator.delimiters), mutator.name


def test_no_replacement_is_what_it_replaces():
    for mutator in MUTATORS:
        assert (
            mutator.kind is not TextMutatorKind.REPLACE or mutator.strings[0] != mutator.strings[1]
        )
        assert '"' in mutator.effect


def test_the_package_has_the_sources():
    """They are compiled where fuzztui is installed."""
    directory = Path(reference.__file__).parent
    assert {"mutate.c", "mutate.h", "mutators.h"} <= {p.name for p in directory.iterdir()}
