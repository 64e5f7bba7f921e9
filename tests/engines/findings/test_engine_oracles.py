"""The alarm of messages, the second implementation, and the table that names them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fuzztui.engines.directory.events import EventLog, ReportedEvents, read_reported
from fuzztui.engines.directory.store import Store
from fuzztui.engines.execute.executor import Executor, Outcome
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.message_oracle import MessageOracle
from fuzztui.engines.findings.differential import Difference, DifferentialOracle
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.engines.findings.triage import FailureTriage
from fuzztui.engines.inputs.inputs import TextInput
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.instrument.guard import Guard
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import FindingDescribed, FindingSaved, Record
from fuzztui.run.campaign import CampaignError, load

CAMPAIGN = """
[target]
function = "json:loads"
[engine]
kind = "{kind}"
{table}
"""


class Odd(Exception):
    def __str__(self) -> str:
        raise KeyError("no words")


@pytest.mark.parametrize(
    ("pattern", "error", "said"),
    [
        ("internal", ValueError("an  internal\nerror 77"), "internal"),
        (r"internal.*", ValueError("internal error 77 in 0x10"), "internal error # in #x#"),
        (r"^AssertionError", AssertionError(), "AssertionError"),
        (r"^ValueError: \d+$", ValueError("12"), "ValueError: #"),
        (r"^tomllib\.TOMLDecodeError: ", __import__("tomllib").TOMLDecodeError("x"),
         "tomllib.TOMLDecodeError:"),
        ("bug.*", ValueError("bug in <F at 0x7fAc01de> of /tmp/tmpab_c1x9z/m"),
         "bug in <F at #x#> of /tmp/tmp#/m"),
        ("bug.*", ValueError("bug 550e8400-e29b-41d4-a716-446655440000"), "bug #-#-#-#-#"),
        ("bug.*", ValueError("bug 42 in deadline"), "bug # in deadline"),
        ("(?=x)", ValueError("xx"), "ValueError"),
        ("internal", ValueError("external"), ""),
        ("x", Odd(), ""),
    ],
)  # fmt: skip
def test_alarm(pattern: str, error: BaseException, said: str) -> None:
    assert MessageOracle(pattern).search(error)[0] == said


def test_alarm_is_short() -> None:
    assert [len(text) for text in MessageOracle("x+").search(ValueError("x" * 5000))] == [80, 80]


def test_a_pattern_that_is_slow_makes_no_hang(bench):
    made = bench(fail, fail, limit_s=0.5)
    alarm = made.executor.message_oracle = MessageOracle("(x+)+$")
    told: list[str] = []
    alarm.log_message = lambda level, text: told.append(text)
    for _ in range(2):
        execution = made.executor.call(b"x" * 60)
        assert (execution.outcome, execution.matched) == (Outcome.FAILURE, "")
    execution = made.executor.call(b"x" * 3)
    assert execution.outcome is Outcome.FAILURE
    assert len(told) == 1
    assert "oracle.message" in told[0]


def test_a_refusal_whose_message_is_a_bug_keeps_its_traceback(bench):
    made = bench(refuse, refuse)
    made.executor.message_oracle = MessageOracle("no bug")
    harmless, bug = (made.executor.call(text) for text in (b"x", b"bug"))
    assert harmless.outcome is Outcome.INVALID
    assert harmless.error is not None and harmless.error.__traceback__ is None
    assert (bug.outcome, bug.matched) == (Outcome.FAILURE, "no bug")
    assert bug.error is not None and bug.error.__traceback__ is not None


def address(text: str) -> object:
    raise RuntimeError("bug at 0x7f12")


def test_a_message_that_older_versions_named_otherwise_is_no_new_finding(bench, tmp_path):
    made = bench(address, address)
    made.executor.message_oracle = MessageOracle("bug at .*")
    failure = FailureTriage(made.executor, ()).classify(made.executor.call(b"x"))
    assert "bug at #x#'" in failure.signature
    assert failure.before == failure.signature.replace("#x#", "#x#f#")
    log = EventLog(tmp_path / "events.jsonl", "main")
    store = Store(tmp_path, log, lambda seconds: None)
    store.create()
    findings = Findings(store, log, None, ReportedEvents())
    words = partial(Description, "a bug", "", "x")
    findings.save(replace(failure, signature=failure.before, before=""), b"x", "op:x", words)
    again = Findings(store, log, None, read_reported(tmp_path / "events.jsonl"))
    assert again.count_known(failure)


# --------------------------------------------------------------------- a second one


class Bench:
    """Two functions; ``differs`` runs both."""

    def __init__(
        self,
        root: Path,
        first: Callable[[str], object],
        second: Callable[[str], object],
        compare: Callable[[object, object], object] | None = None,
        limit_s: float = 60.0,
    ) -> None:
        guard = Guard(limit_s)
        self.executor = Executor(
            first,  # type: ignore[arg-type]
            TextInput(),
            (ValueError,),
            coverage=CoverageMap(),
            guard=guard,
            fixture=Fixture(root),
        )
        guard.arm()
        self.said: list[str] = []
        self.rival = DifferentialOracle(
            self.executor.like(second, (ValueError,)),  # type: ignore[arg-type]
            compare,
            names=("a:f", "b:g"),
            say=lambda level, text: self.said.append(text),
        )

    def differs(self, text: str) -> Difference | None:
        return self.rival.differs(self.executor.call(text.encode()))

    def close(self) -> None:
        self.executor.guard.disarm()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes benches; the last one is closed in the end."""
    made: list[Bench] = []

    def make(*functions: Callable[..., object], limit_s: float = 60.0) -> Bench:
        made.append(Bench(tmp_path, *functions, limit_s=limit_s))  # type: ignore[arg-type]
        return made[-1]

    yield make
    made[-1].close()


def refuse(text: str) -> object:
    raise ValueError(f"no {text} 12")


def refuse_otherwise(text: str) -> object:
    raise ValueError("I will not")


def spin(text: str) -> object:
    while True:
        pass


def quote(text: str) -> object:
    raise ValueError(f"expecting ',' after '{text}' in \"parser\"")


def decode(text: str) -> object:
    return text.encode("utf-16").decode("utf-8")


def test_a_cause_with_a_constant_in_it_is_that_of_an_older_run(bench):
    made = bench(decode, str.upper)
    found = made.differs("some text")
    assert found is not None
    assert "codec can't decode byte #x#" in found.failure.signature
    assert "codec can't decode byte #xff" in found.failure.before
    assert found.failure.before.endswith(" / accepted")


def test_a_message_that_quotes_the_input_is_one_cause(bench):
    made = bench(quote, str.upper)
    found = [made.differs(text) for text in ("some text", "other words", "x" * 500)]
    signatures = {f.failure.signature for f in found if f}
    assert len(signatures) == 2  # of one that is cut off, the rest is missing too
    assert "differs @ ValueError: expecting ',' after '' in \"parser\" / accepted" in signatures
    first = found[0]
    assert first and "after 'some text' in" in first.failure.before


def some(text: str) -> object:
    yield text


def fail(text: str) -> object:
    raise KeyError(text)


@pytest.mark.parametrize(
    ("first", "second", "signature"),
    [
        (str.upper, str.upper, ""),
        (refuse, refuse_otherwise, ""),
        (str.upper, str.lower, "differs @ values str / str"),
        (str.upper, refuse, "differs @ accepted / ValueError: no x #"),
        (refuse, str.upper, "differs @ ValueError: no x # / accepted"),
        (refuse, fail, "differs @ ValueError: no x # / KeyError: 'x'"),
        (str.upper, spin, "differs @ accepted / timeout"),
        (fail, str.upper, ""),  # a finding of its own
        (lambda t: [1, {t: [1.5]}], lambda t: [1, {t: [1]}], "differs @ values float / int"),
        (lambda t: [1, 2], lambda t: [1, 2, 3], "differs @ values list / list"),
        (lambda t: float("nan"), lambda t: float("nan"), ""),
        (lambda t: 1, lambda t: True, "differs @ values int / bool"),
        (lambda t: {"a": 1}, lambda t: {"b": 1}, "differs @ values dict / dict"),
        (lambda t: {1, 2}, lambda t: {1, 3}, "differs @ values set / set"),
        (lambda t: (c for c in t), some, ""),
        (lambda t: (c for c in t), str.upper, "differs @ values generator / str"),
        (lambda t: compile("y=1", "f", "exec"), lambda t: compile("y=1", "g", "exec"), ""),
        (
            lambda t: compile("y=1000", "f", "exec"),
            lambda t: compile("y=2000", "f", "exec"),
            "differs @ values int / int",
        ),
        (
            lambda t: compile("def f(): x", "f", "exec"),
            lambda t: compile("def f(): y", "f", "exec"),
            "differs @ values str / str",
        ),
    ],
)
def test_what_differs(bench, first, second, signature):
    made = bench(first, second, limit_s=0.5 if second is spin else 60.0)
    found = made.differs("x")
    assert (found.failure.signature if found else "") == signature
    if found:
        assert found.failure.category == "differs"
        assert found.detail.startswith("a:f ")
        assert "\nb:g " in found.detail


def test_generators_are_told_of_once(bench):
    made = bench(some, some)
    assert made.differs("x") is made.differs("y") is None
    assert len(made.said) == 1
    assert "generator" in made.said[0]


@pytest.mark.slow
def test_the_users_comparison(bench):
    made = bench(str.upper, str.lower, lambda a, b: str(a).lower() == b)
    assert made.differs("x") is None
    made = bench(str.upper, str.lower, lambda a, b: 1 / 0)
    assert made.differs("x") is None
    made = bench(str.upper, str.lower, lambda a, b: spin(""), limit_s=0.5)
    assert made.differs("x") is None
    assert made.differs("y") is None
    assert made.said == ["values that cannot be compared in time count as the same"]


def test_memory_that_ran_out_is_no_difference(bench):
    def leaks(text: str) -> object:
        raise MemoryError

    made = bench(str.upper, leaks)
    assert made.executor.call(b"x").outcome is Outcome.SUCCESS
    assert made.differs("x") is None


# ------------------------------------------------------------------- the campaign file


def write(tmp_path: Path, table: str, kind: str = "zest") -> Path:
    path = tmp_path / "c.toml"
    path.write_text(CAMPAIGN.format(kind=kind, table=table))
    return path


def test_table(tmp_path: Path) -> None:
    assert load(write(tmp_path, "")).campaign.table("oracle") == {}
    table = '[oracle]\nmessage = "internal error"\nagainst = "h.py"\nalways = true'
    (tmp_path / "h.py").write_text("def against(text): pass\n")
    for kind in ("zest", "text"):
        loaded = load(write(tmp_path, table, kind))
        assert loaded.campaign.table("oracle") == {
            "message": "internal error",
            "against": f"{tmp_path}/h.py",
            "always": True,
        }
        again = tmp_path / "again.toml"
        again.write_text(loaded.toml())
        assert load(again).campaign.table("oracle") == loaded.campaign.table("oracle")


@pytest.mark.parametrize(
    ("table", "kind", "key", "words"),
    [
        ("[oracle]\n", "zest", "oracle", "has no effect"),
        ('[oracle]\nmessage = "("', "zest", "oracle.message", "not a regular expression"),
        ('[oracle]\nmessage = ".*"', "zest", "oracle.message", "matches every message"),
        ("[oracle]\nmessage = 1", "zest", "oracle.message", "not a regular expression"),
        ('[oracle]\nmessage = "x"\nalways = true', "text", "oracle.always", "oracle.against"),
        ('[oracle]\nagainst = "tomli"', "text", "oracle.against", "module:function"),
        ('[oracle]\nmesage = "x"', "text", "oracle.mesage", 'did you mean "message"'),
        ('[oracle]\nmessage = "x"', "mu2", "oracle", "engine.kind = zest or spoton or text"),
        (
            '[oracle]\nagainst = "json:loads"\n[campaign]\nbudget = "1h"\n'
            '[mutants]\nsources = ["json"]',
            "zest", "oracle.against", "every mutant",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_in_it(tmp_path: Path, table: str, kind: str, key: str, words: str) -> None:
    with pytest.raises(CampaignError) as caught:
        load(write(tmp_path, table, kind))
    problem = caught.value.problems[0]
    assert (problem.key, words in problem.text) == (key, True), str(problem)
    assert problem.origin.startswith(f"{tmp_path}/c.toml")


@pytest.mark.parametrize("described_first", [True, False])
def test_its_category_in_the_model(described_first: bool) -> None:
    events = [
        FindingSaved("main", "crash", "crashes/id:000000", id=0),
        FindingDescribed("main", "differs", "crashes/id:000000", "differs @ x", "title"),
    ]
    if described_first:
        events.reverse()
    state = State()
    apply(state, [Record(n + 1, float(n), e) for n, e in enumerate(events)])
    (finding,) = state.findings.values()
    assert (finding.category, finding.saved, finding.title) == ("differs", True, "title")
    assert state.instances["main"].crashes == 1
