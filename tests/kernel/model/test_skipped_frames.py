"""Rules about frames that do not count: signatures, groups, and what becomes of verdicts."""

from __future__ import annotations

import pytest
from folding import fold

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.groups import regrouping
from fuzztui.kernel.model.inverses import inverse
from fuzztui.kernel.model.new_groups import Notifications, new_groups
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import CountFrames, SkipFrames
from fuzztui.kernel.wire.frames import (
    HARNESS,
    LIBRARY,
    MAX_FRAMES,
    Basis,
    StackFrame,
    counting,
    frame_rows,
    parse_frames,
    rule_problem,
    signature_of,
    skipping_rule,
)

REQUIRE = StackFrame("require", "/src/checks.py", 5)
REQUIRED = "E @ checks.py:5 in require"


E = Basis("E")


def caller(line: int) -> StackFrame:
    return StackFrame("parse", "/src/crate.py", line)


def found(name: str, *frames: StackFrame, basis: Basis = E, **more: str) -> ev.Event:
    counted = counting(frames, basis, ())
    return ev.FindingDescribed(
        "main", "crash", name, signature_of(basis, counted), "title", counted[0].place,
        frames=frame_rows(frames), basis=basis.row(), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def more(state: State, event: ev.Event) -> None:
    apply(state, [ev.Record(state.seq + 1, state.t, event)])


SKIP = ev.SkippedFrames(["checks.py in require"])


def test_a_group_is_split_by_the_callers_and_whole_again_without_the_rule() -> None:
    state = fold(found("1", REQUIRE, caller(12)), found("2", REQUIRE, caller(20)))
    assert list(state.groups) == [REQUIRED]
    assert regrouping(state, tuple(SKIP.rules)).text == "1 group is 2 (1 split)"
    more(state, SKIP)
    assert set(state.groups) == {"E @ crate.py:12 in parse", "E @ crate.py:20 in parse"}
    assert [f.place for f in state.findings.values()] == [
        "crate.py:12 in parse", "crate.py:20 in parse",
    ]  # fmt: skip
    assert all(f.first for f in state.findings.values())
    more(state, found("3", REQUIRE, caller(20)))  # a later one
    assert state.groups["E @ crate.py:20 in parse"] == ["main/2", "main/3"]
    more(state, ev.SkippedFrames([]))
    assert state.groups == {REQUIRED: ["main/1", "main/2", "main/3"]}


def test_parts_of_a_group_are_no_news_to_the_command() -> None:
    state = fold(
        found("1", REQUIRE, caller(12)), found("2", REQUIRE, caller(20)),
        ev.Notified("findings", "", ["main/1"]), SKIP, found("3", REQUIRE, caller(30)),
    )  # fmt: skip
    assert [f.key for f in new_groups(state, state.part(Notifications).findings, 1e9)] == ["main/3"]


def test_a_group_joins_one_that_is_there() -> None:
    state = fold(found("1", caller(12)), found("2", REQUIRE, caller(12)), SKIP)
    assert state.groups == {"E @ crate.py:12 in parse": ["main/1", "main/2"]}
    assert regrouping(state, ()).text == "1 group is 2 (1 split)"


def test_a_programs_signature_is_that_of_the_functions_that_are_left() -> None:
    basis = Basis("SIGSEGV", depth=3)
    f, g, h, i, libc = (
        StackFrame(name, f"/src/{name}.c", 7, LIBRARY if name == "memcpy" else "own")
        for name in ("f", "g", "h", "i", "memcpy")
    )
    state = fold(
        found("1", libc, f, g, h, i, basis=basis), found("2", g, h, i, basis=basis),
        ev.SkippedFrames(["f"]),
    )  # fmt: skip
    assert [sorted(keys) for keys in state.groups.values()] == [["main/1", "main/2"]]
    assert state.findings["main/1"].place == "g.c:7 in g"


def test_a_finding_without_frames_stays_where_it_is() -> None:
    state = fold(ev.FindingDescribed("main", "crash", "1", REQUIRED, "title"), SKIP)
    assert list(state.groups) == [REQUIRED]


@pytest.mark.parametrize(
    ("rules", "counts"),
    [
        ((), "f"), (("f",), "g"), (("a.py in *",), "loads"), (("f", "g"), "loads"),
        (("f", "g", "loads"), "main"), (("src/a.py in f",), "g"), (("lib/a.py in f",), "f"),
        (("F",), "f"), (("b.py in f",), "f"), (("* in f",), "g"), (("?",), "loads"),
    ],
)  # fmt: skip
def test_which_frame_counts(rules: tuple[str, ...], counts: str) -> None:
    frames = [
        StackFrame("loads", "/usr/lib/python3.11/json/__init__.py", 3, LIBRARY),
        StackFrame("f", "/src/a.py", 1), StackFrame("g", "/src/a.py", 2),
        StackFrame("main", "/src/h.py", 3, HARNESS),
    ]  # fmt: skip
    assert counting(frames, Basis("E"), rules)[0].function == counts


def test_if_all_frames_are_skipped_the_rules_do_not_hold() -> None:
    frames = [REQUIRE, caller(12)]
    assert counting(frames, Basis("E"), ("checks.py in *", "crate.py in *")) == [REQUIRE]


def test_names_of_cpp_are_no_patterns() -> None:
    frame = StackFrame("operator[]", "/src/a.cc", 1)
    assert skipping_rule(frame, ("operator[]",)) == "operator[]"
    assert not skipping_rule(frame, ("operator[x]",))


@pytest.mark.parametrize("rule", ["", " ", "*", "* in *", "?", "a\nb", "\x1b[31m", "x" * 201, " f"])
def test_what_is_no_rule(rule: str) -> None:
    assert rule_problem(rule)
    state = fold(found("1", REQUIRE, caller(12)), ev.SkippedFrames([rule]))
    assert (list(state.groups), state.skipped_frames) == ([REQUIRED], [])


def test_many_frames_are_bounded_and_the_first_of_the_application_stays() -> None:
    deep = [StackFrame(f"l{n}", "/usr/lib/x.py", n, LIBRARY) for n in range(1, 900)]
    rows = frame_rows([*deep, REQUIRE, caller(12)])
    assert len(rows) <= MAX_FRAMES
    assert counting(parse_frames(rows), Basis("E"), ()) == [REQUIRE]


def verdict(signature: str, name: str) -> ev.VerdictsChanged:
    return ev.VerdictsChanged([{"signature": signature, "verdict": name}])


def verdicts(state: State) -> dict[str, str]:
    return {signature: verdict_of(state, signature) for signature in state.groups}


def test_a_verdict_stays_with_the_only_group_of_its_findings() -> None:
    state = fold(found("1", REQUIRE, caller(12)), verdict(REQUIRED, "known"), SKIP)
    assert verdicts(state) == {"E @ crate.py:12 in parse": "known"}
    # Another caller: the verdict may have been about either.
    more(state, found("2", REQUIRE, caller(20)))
    assert set(verdicts(state).values()) == {"new"}
    more(state, verdict("E @ crate.py:20 in parse", "fixed"))
    assert list(verdicts(state).values()) == ["new", "fixed"]
    more(state, ev.SkippedFrames([]))
    assert verdicts(state) == {REQUIRED: "known"}


def test_a_merged_group_keeps_a_verdict_that_all_its_parts_have() -> None:
    events = [found("1", caller(12)), found("2", REQUIRE, caller(12)), SKIP]
    known = verdict(REQUIRED, "known")
    same = [known, verdict("E @ crate.py:12 in parse", "known")]
    assert set(verdicts(fold(*events, *same)).values()) == {"known"}
    assert set(verdicts(fold(*events, known)).values()) == {"new"}
    own = verdict("E @ crate.py:12 in parse", "fixed")  # about this very signature
    assert set(verdicts(fold(*events, known, own)).values()) == {"fixed"}


def test_undo_takes_back_what_the_command_has_changed() -> None:
    before, now = fold(ev.SkippedFrames(["a"])), fold(ev.SkippedFrames(["a", "b"]))
    assert inverse(SkipFrames(["a", "b"]), before, now).commands == (CountFrames(["b"]),)
    assert inverse(CountFrames(["b"]), now, before).commands == (SkipFrames(["b"]),)
    assert inverse(SkipFrames(["b"]), before, before).commands == ()


def made(number: int, line: int = 3) -> ev.Event:
    """A finding as earlier versions logged it: the generated function was its place."""
    frames = [
        StackFrame("f", f"<generated {number}>", line, LIBRARY),
        StackFrame("target", "/h.py", 4, HARNESS),
    ]
    return ev.FindingDescribed(
        "main", "crash", str(number), f"E @ <generated {number}>:{line} in f", "title",
        f"<generated {number}>:{line} in f", frames=frame_rows(frames), basis=E.row(),
    )  # fmt: skip


def test_findings_in_generated_code_of_an_old_log_are_one_group() -> None:
    state = fold(*(made(n) for n in range(60)))
    assert list(state.groups) == ["E @ h.py:4 in target"]
    assert {f.place for f in state.findings.values()} == {"h.py:4 in target"}
    more(state, ev.SkippedFrames(["nothing"]))
    more(state, ev.SkippedFrames([]))
    assert list(state.groups) == ["E @ h.py:4 in target"]


def test_a_verdict_about_generated_code_still_holds() -> None:
    given = [
        {"signature": f"E @ <generated {n}>:3 in f", "verdict": "known"} for n in range(3)
    ]  # fmt: skip
    state = fold(*(made(n) for n in range(3)), ev.VerdictsChanged(given))
    assert verdict_of(state, "E @ h.py:4 in target") == "known"
    more(state, made(3, line=9))  # a function that no verdict is about
    assert verdict_of(state, "E @ h.py:4 in target") == "new"
