"""Engines make signatures of the frames that count, and save a finding for each."""

from pathlib import Path

import pytest

from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.store import CRASHES, Store, entry_ids
from fuzztui.engines.execute.failures import (
    Failure,
    failure_of,
    frames_of_error,
    hang_of,
    last_place,
    stack_frames,
)
from fuzztui.engines.findings.findings import Description, Findings, basis_of
from fuzztui.engines.findings.triage import FrameRules
from fuzztui.kernel.wire.frames import (
    RULES_FILE,
    StackFrame,
    frame_rows,
    parse_basis,
    parse_frames,
    signature_under,
)

APP, CHECKS = "/app/parser.py", "/app/checks.py"
FILES = {APP, CHECKS}
RULE = ("checks.py in require",)


def code(text: str, file: str, **names: object) -> dict[str, object]:
    space: dict[str, object] = {"__name__": file, **names}
    exec(compile(text, file, "exec"), space)
    return space


def failing(deep: str = "raise ValueError(1)") -> list[BaseException]:
    """The errors of two callers of one function."""
    require = code(f"def require(again):\n    {deep}", CHECKS)["require"]
    space = code(
        "def f():\n    require(require)\ndef g():\n    require(require)", APP, require=require
    )
    errors = []
    for name in "fg":
        with pytest.raises((ValueError, RecursionError)) as caught:
            space[name]()  # type: ignore[operator]
        errors.append(caught.value)
    return errors


def test_an_engine_and_the_fold_agree_on_each_signature() -> None:
    for deep in ("raise ValueError(1)", "again(again)"):
        for error in failing(deep):
            plain = failure_of(error, FILES)
            rows = frame_rows(frames_of_error(error, FILES))
            basis = basis_of(plain, rows)
            assert parse_basis(basis)
            assert signature_under("x", rows, basis, ()) == plain.signature
            for rules in (RULE, ("nothing",), ("parser.py in *",), ("*.py in *",)):
                ruled = failure_of(error, FILES, rules=rules)
                assert signature_under("x", rows, basis, rules) == ruled.signature


def test_the_callers_of_a_skipped_function_have_signatures_of_their_own() -> None:
    assert {failure_of(e, FILES).place for e in failing()} == {"checks.py:2 in require"}
    places = [failure_of(e, FILES, rules=RULE).place for e in failing()]
    assert places == ["parser.py:2 in f", "parser.py:4 in g"]


def generated(deep: str = "raise KeyError(1)", name: str = "<generated {}>") -> list[BaseException]:
    """The errors of one function that was generated three times, as attrs and sympy do."""
    errors = []
    for n in range(3):
        space = code(f"\n\ndef f(again):\n    {deep}", name.format(n))
        call = code("def target(f):\n    f(f)", "/user/harness.py")["target"]
        with pytest.raises((KeyError, RecursionError)) as caught:
            call(space["f"])  # type: ignore[operator]
        errors.append(caught.value)
    return errors


@pytest.mark.parametrize("name", ["<generated {}>", "<string>", "<" + "x" * 300 + "{}>"])
@pytest.mark.parametrize(
    ("deep", "place"),
    [("raise KeyError(1)", "harness.py:2 in target"), ("again(again)", "in f")],
)
def test_generated_code_is_no_place(name: str, deep: str, place: str) -> None:
    for error in generated(deep, name):
        failure = failure_of(error, FILES)
        assert failure.place == place
        rows = frame_rows(frames_of_error(error, FILES))
        basis = basis_of(failure, rows)
        assert signature_under("x", rows, basis, ()) == failure.signature
        assert not any(frame.located for frame in parse_frames(rows) if frame.function == "f")
        assert failure_of(error, FILES, rules=("nothing",)).place == place


def test_generated_code_of_a_dying_process_is_no_place() -> None:
    trace = 'File "<made 7>", line 3 in f\nFile "/user/harness.py", line 2 in target\n'
    assert last_place(trace, set()) == "harness.py in target"
    assert last_place('File "<made 7>", line 3 in f\n', set()) == "in f"


def test_a_hang_has_the_function_that_counts() -> None:
    space = code("def f(): pass\ndef g(): pass", APP)
    stack = [(space[name].__code__, 3) for name in "fg"]  # type: ignore[attr-defined]
    assert hang_of(stack, stack, FILES).place == "parser.py in g"
    ruled = hang_of(stack, stack, FILES, ("g",))
    assert ruled.place == "parser.py in f"
    frames = frame_rows(stack_frames(stack, FILES, lines=False))
    basis = basis_of(ruled, frames)
    assert signature_under("x", frames, basis, ("g",)) == ruled.signature


def test_a_place_that_no_frame_has_is_no_basis() -> None:
    rows = frame_rows([StackFrame("f", APP, 3)])
    assert basis_of(Failure("crash", "E @ x", "E", "x"), rows) == {}
    assert basis_of(Failure("crash", "E @ p while", "E", "parser.py:3 in f"), []) == {}


def test_findings_are_saved_by_the_rules_of_now(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", "main")
    store = Store(tmp_path, log, lambda seconds: None)
    store.create()
    one, other = failing()

    def saver(rules: tuple[str, ...]) -> Findings:
        reported = read_reported(tmp_path / "events.jsonl")
        return Findings(store, log, None, reported, rules=rules)

    def seen(findings: Findings, error: BaseException, rules: tuple[str, ...]) -> bool:
        failure = failure_of(error, FILES, rules=rules)
        if findings.count_known(failure):
            return True
        rows = frame_rows(frames_of_error(error, FILES))
        findings.save(failure, b"x", "execs:1", lambda: Description("title", "", "", rows))
        return False

    findings = saver(())
    assert [seen(findings, e, ()) for e in (one, other)] == [False, True]
    findings.regroup(RULE)  # while it runs
    assert [seen(findings, e, RULE) for e in (one, other, other)] == [True, False, True]
    findings = saver(RULE)  # a new worker
    assert [seen(findings, e, RULE) for e in (one, other)] == [True, True]
    for rules in ((), RULE):
        findings.regroup(rules)
        assert [seen(findings, e, rules) for e in (one, other)] == [True, True]
    assert len(entry_ids(tmp_path / CRASHES)) == 2


def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    rules = FrameRules(tmp_path)
    assert (rules.rules, rules.changed()) == ((), False)
    file = tmp_path / RULES_FILE
    file.write_text("a\n\x1b\n\nb.py in c\n")
    assert rules.changed() and not rules.changed()
    assert rules.rules == ("a", "b.py in c")
    file.unlink()
    assert rules.changed() and rules.rules == ()
    file.mkdir()
    assert not rules.changed()
