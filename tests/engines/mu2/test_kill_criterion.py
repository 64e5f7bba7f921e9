"""KILLS(P', x) in its three modes, the user's compare function, and what is said of it."""

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.mu2.kill_criterion import Compare, KillCriterion, KillEvidence, Mode

MODES: list[Mode] = ["differential", "paper", "strict"]


@pytest.fixture
def limit_s() -> float:
    """Seconds that a comparison may take: no test but those that ask for less reaches it."""
    return 60.0


@pytest.fixture
def executor(tmp_path: Path, limit_s: float) -> Iterator[Executor]:
    here = Path.cwd()
    guard = Guard(limit_s)
    guard.arm()
    try:
        yield Executor(
            lambda data: data,
            InputForm(),
            (ValueError,),
            coverage=CoverageMap(),
            guard=guard,
            fixture=Fixture(tmp_path),
        )
    finally:
        guard.disarm()
        os.chdir(here)


Make = Callable[..., KillCriterion]


@pytest.fixture
def make(executor: Executor) -> Make:
    def oracle(
        mode: Mode = "differential", compare: Compare | None = None, *, rejections: bool = True
    ) -> KillCriterion:
        return KillCriterion(mode, compare, executor.guarded, rejections=rejections)

    return oracle


def returned(value: object) -> Execution:
    return Execution(Outcome.SUCCESS, b"x", 0, value)


def rejected(error: BaseException) -> Execution:
    return Execution(Outcome.INVALID, b"x", 0, None, error)


def failed(error: BaseException) -> Execution:
    return Execution(Outcome.FAILURE, b"x", 0, None, error)


TIMEOUT = Execution(Outcome.TIMEOUT, b"x", 0)


@pytest.mark.parametrize("mode", MODES)
def test_who_may_kill(make, mode):
    judges = {o for o in Outcome if make(mode).judges(o)}
    narrow = {Outcome.SUCCESS}
    assert judges == (narrow if mode == "paper" else narrow | {Outcome.INVALID})


NO = ValueError("no")
RUNS = [
    # the program, the mutant, the oracle that tells, what is said
    (returned(3), returned(3), "", ""),
    (returned(3), returned(4), "value", "returned 3, the mutant 4"),
    (returned(1), returned(True), "value", "returned 1, the mutant True"),
    (returned(3), failed(IndexError("out\nof range")), "exception",
     "the mutant raised IndexError: out of range"),
    (returned(3), rejected(ValueError()), "exception", "the mutant raised ValueError"),
    (returned(3), TIMEOUT, "timeout", "the mutant did not end"),
    (rejected(NO), returned([1]), "exception", "raised ValueError, the mutant returned [1]"),
    (rejected(NO), failed(KeyError("k")), "exception",
     "raised ValueError, the mutant KeyError: 'k'"),
    (rejected(NO), rejected(UnicodeError("no")), "exception",
     "raised ValueError, the mutant UnicodeError: no"),
    (rejected(ValueError("a")), rejected(ValueError("a")), "", ""),
    (rejected(ValueError("at 1")), rejected(ValueError("at 2")), "strict",
     "raised ValueError: at 1, the mutant ValueError: at 2"),
    (rejected(ValueError()), TIMEOUT, "timeout", "the mutant did not end"),
    # Not of inputs that kill, but of the program against itself:
    (TIMEOUT, TIMEOUT, "", ""),
    (TIMEOUT, returned(None), "timeout", "did not end, the mutant did"),
    (failed(KeyError(1)), failed(KeyError(2)), "strict", "raised KeyError: 1"),
]  # fmt: skip
"""strict: the oracle is "exception", and only that mode tells."""


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("mode", MODES)
def test_kills(make, mode, run):
    original, mutated, oracle, words = run
    if oracle == "strict":
        oracle = "exception" if mode == "strict" else ""
    verdict = make(mode).verdict(original, mutated)
    assert ("" if verdict is None else verdict.oracle) == oracle
    assert verdict is None or verdict.detail.startswith(words)


def test_classes_are_told_apart_by_their_whole_name(make):
    def local(name: str) -> type[Exception]:
        return type("Bad", (Exception,), {"__module__": name})

    oracle = make()
    same, other = local("a"), local("a")
    assert same is not other  # as of a program that was imported twice
    assert oracle.verdict(rejected(same()), rejected(other())) is None
    assert oracle.verdict(rejected(same()), rejected(local("b")())) is not None


def test_messages_without_addresses(make):
    def at(n: int) -> Execution:
        return rejected(ValueError(f"<object at 0x{n:x}>"))

    assert make("strict").verdict(at(4096), at(8192)) is None


def test_compare_decides(make):
    asked: list[tuple[Any, Any]] = []

    def by_length(a: Any, b: Any) -> object:
        asked.append((a, b))
        return [] if len(a) != len(b) else "any truth"

    oracle = make(compare=by_length)
    assert oracle.verdict(returned("ab"), returned("cd")) is None
    verdict = oracle.verdict(returned("ab"), returned("cde"))
    assert verdict == KillEvidence("value", "returned 'ab', the mutant 'cde'")
    assert asked == [("ab", "cd"), ("ab", "cde")]
    oracle.verdict(returned("ab"), failed(KeyError()))
    assert len(asked) == 2  # of values only
    assert oracle.problems == []


def test_values_that_cannot_be_compared_are_counted_and_named_once(make):
    oracle = make()
    for n in (0, 1, 2, 0, 2):
        oracle.look_at(returned({"n": n}), 3 * n)
        oracle.look_at(returned([n, (i for i in ())]), 3 * n + 1)
        oracle.look_at(rejected(ValueError()), 3 * n + 2)
    assert oracle.uncompared == 3
    (problem,) = oracle.problems
    assert "generator" in problem
    own = make(compare=lambda a, b: True)
    own.look_at(returned(i for i in ()), 0)
    assert own.uncompared == 0


@pytest.mark.parametrize("error", [AttributeError("no \x1b[31mroot"), SystemExit(1)])
def test_a_broken_compare_kills_nothing_and_is_told_once(make, error):
    def broken(a: object, b: object) -> object:
        raise error

    oracle = make(compare=broken)
    for n in range(3):
        assert oracle.verdict(returned(1), returned(n)) is None
    (problem,) = oracle.problems
    assert f"target.compare raised {type(error).__name__}" in problem
    assert "\x1b" not in problem


def test_a_message_that_changes_is_one_problem(make):
    def broken(a: object, b: object) -> object:
        raise ValueError(f"cannot compare with {b}")

    oracle = make(compare=broken)
    for n in range(100):
        oracle.verdict(returned(1), returned(n))
    assert len(oracle.problems) == 1
    assert "cannot compare with 0" in oracle.problems[0]


def test_a_truth_that_cannot_be_told_is_a_problem(make):
    class Array:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

    oracle = make(compare=lambda a, b: Array())
    assert oracle.verdict(returned(1), returned(2)) is None
    assert "ambiguous" in oracle.problems[0]


def test_problems_are_bounded(make):
    def broken(a: object, b: Any) -> object:
        raise type(f"Error{b}", (Exception,), {})

    oracle = make(compare=broken)
    for n in range(100):
        oracle.verdict(returned(1), returned(n))
    assert 1 < len(oracle.problems) <= 20


def endless(*_: object) -> Any:
    while True:
        pass


@pytest.mark.parametrize("limit_s", [0.2])
def test_a_compare_that_does_not_end(make):
    oracle = make(compare=endless)
    assert oracle.verdict(returned(1), returned(2)) is None
    assert "target.compare exceeds" in oracle.problems[0]


class Endless(io.StringIO):
    getvalue = __repr__ = endless  # type: ignore[assignment]


@pytest.mark.parametrize("limit_s", [0.2])
def test_values_that_cannot_be_compared_in_time(make):
    oracle = make()
    assert oracle.verdict(returned(Endless("a")), returned(Endless("b"))) is None
    assert "comparing values exceeds" in oracle.problems[0]


@pytest.mark.parametrize("limit_s", [0.2])
def test_a_value_that_cannot_be_shown(make):
    verdict = make().verdict(returned([Endless()]), returned(None))
    assert verdict == KillEvidence("value", "returned a list, the mutant None")


@pytest.mark.parametrize("limit_s", [0.2])
def test_an_error_that_cannot_be_shown(make):
    class Bad(Exception):
        __str__ = endless  # type: ignore[assignment]

    verdict = make().verdict(returned(1), failed(Bad()))
    assert verdict is not None
    assert verdict.detail.startswith("the mutant raised ")
    assert verdict.detail.endswith("Bad")


def test_the_difference_is_shown_not_the_beginning(make):
    def long(end: int) -> list[int]:
        return [*range(30), end]

    verdict = make().verdict(returned(long(111)), returned(long(222)))
    assert verdict is not None
    ours, theirs = verdict.detail.split(", the mutant ")
    assert ours.startswith("returned ...")
    assert ours.endswith("29, 111]")
    assert theirs.endswith("29, 222]")


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (object(), ValueError, "returned <object object>, the mutant <class 'ValueError'>"),
        ("a\n\x1b]0;x\x07", "b\u202e", r"returned 'a\n\x1b]0;x\x07', the mutant 'b\u202e'"),
        ("x" * 10**6, "y", "returned 'xxxxx"),
        (list(range(10**6)), [], "returned [0, 1, 2"),
        ([10**5000], 1, "returned "),
        (type("int", (int,), {})(3), 3, "returned a "),
        (set(range(10**5)), {0}, "returned {0, 1,"),
    ],
)
def test_details_are_one_short_harmless_line(make, a, b, words):
    verdict = make().verdict(returned(a), returned(b))
    assert verdict is not None
    assert verdict.detail.startswith(words)
    assert verdict.detail.isprintable()
    assert len(verdict.detail) <= 200


def test_what_looks_alike_is_said_to(make):
    class Quiet:
        def __init__(self, n: int) -> None:
            self.n = n

        def __repr__(self) -> str:
            return "<quiet>"

    verdict = make().verdict(returned(Quiet(1)), returned(Quiet(2)))
    assert verdict == KillEvidence(
        "value", "returned <quiet>, the mutant a different value that looks equal"
    )


def test_nan_is_no_kill(make):
    assert make().verdict(returned([float("nan")]), returned([float("nan")])) is None


def test_of_a_suite_a_rejection_kills_no_mutant_but_a_failure_does(make):
    passed = Execution(Outcome.SUCCESS, b"x", 0, None)
    rejected = Execution(Outcome.INVALID, b"x", 0, None, Rejected("assume"))
    failed = Execution(Outcome.FAILURE, b"x", 0, None, AssertionError())
    hung = Execution(Outcome.TIMEOUT, b"x", 0)
    suite, one = make(rejections=False), make()
    for original, mutated in ((passed, rejected), (rejected, passed)):
        assert one.verdict(original, mutated) is not None
        assert suite.verdict(original, mutated) is None
        # Two runs of the original: the input is flaky.
        assert suite.difference(original, mutated) is not None
    for original in (passed, rejected):
        for mutated in (failed, hung):
            assert suite.verdict(original, mutated) is not None
    assert suite.verdict(rejected, rejected) is None
