"""Comparisons of runs, from states."""

import json
import math

import pytest
from strict_html import StrictPage

from fuzztui.kernel.base.page import Folded, Note
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.report.compare_page import compare_json, compare_page, p_text, shown
from fuzztui.tools.report.compared import (
    CannotCompare,
    ComparedRun,
    RunComparison,
    check,
    notes,
    rank_tests,
    spread,
    who_found,
    who_killed,
)
from fuzztui.tools.report.html import html_page
from fuzztui.tools.report.markdown import markdown_page
from fuzztui.tools.report.plain import plain_page


def state_of(
    edges=10, *, found=(), killed=None, mutants=3, target="l:f", engine="mu2", total=99, version="1"
):
    """``found``: signatures with times; ``killed``: mutants by number with times."""
    timed = [
        (0.0, ev.CampaignStarted("c", engine, target, 3, version=version)),
        (0.0, ev.InstanceState("main", "running")),
        (1.0, ev.Stats("main", 100 * edges, corpus=5, edges=edges, edges_total=total)),
    ]
    if mutants:
        about = {"function": "f", "operator": "o", "before": "a", "after": "b"}
        items = [{"id": f"m{n}", "line": n, **about} for n in range(mutants)]
        timed.append((0.0, ev.MutantsFound("main", "l", "l.py", "/l.py", items)))
    for n, (signature, t) in enumerate(dict(found).items()):
        timed.append((t, ev.FindingSaved("main", "crash", f"crashes/{n}")))
        timed.append((t, ev.FindingDescribed("main", "crash", f"crashes/{n}", signature, "<T>")))
    for n, t in (killed or {}).items():
        timed.append((t, ev.MutantState("main", f"m{n}", "killed")))
    timed.sort(key=lambda pair: pair[0])
    state = State()
    apply(state, [ev.Record(n, t, event) for n, (t, event) in enumerate(timed, 1)])
    return state


def runs_of(*states, groups=None):
    numbers = groups or range(len(states))
    return [
        ComparedRun(f"r{n}", f"runs/r{n}", state, group, 9.0)
        for n, (state, group) in enumerate(zip(states, numbers, strict=True))
    ]


def test_figures_are_side_by_side():
    of = RunComparison(9.0, runs_of(state_of(10), state_of(20, killed={0: 2, 1: 3})))
    assert of.figures() == ["execs", "corpus", "edges", "findings", "killed", "score"]
    assert [of.figure(run, "edges") for run in of.runs] == [10, 20]
    assert [of.figure(run, "killed") for run in of.runs] == [0, 2]
    assert of.figure(of.runs[1], "score") == pytest.approx(2 / 3)
    lines = plain_page(compare_page(of, "end")).splitlines()
    assert next(line.split() for line in lines if "executions" in line)[-2:] == ["1,000", "2,000"]


def test_who_had_it_first_and_alone():
    one = state_of(found={"both": 5.0, "alone": 6.0}, killed={0: 2.0, 1: 4.0})
    other = state_of(found={"both": 3.0}, killed={1: 3.0})
    of = RunComparison(9.0, runs_of(one, other))
    causes = {row.key: row for row in who_found(of)}
    assert causes["alone"].sides == {0} and causes["alone"].first == 0
    assert math.isnan(causes["alone"].times[1])
    assert causes["both"].is_common and causes["both"].first == 1
    assert causes["both"].times == (5.0, 3.0)
    kills = {row.key: row for row in who_killed(of)}
    assert set(kills) == {"m0", "m1"}
    assert kills["m0"].sides == {0} and kills["m1"].first == 1
    text = markdown_page(compare_page(of, ""))
    assert "only in r0: 1" in text
    page = compare_page(of, "")
    counts = [s.parts[0] for s in page.sections if s.title.startswith(("Findings", "Mutants"))]
    assert [table.heads[1] for table in counts] == ["found", "killed"]
    assert "&lt;T&gt;" in text and "<T>" not in text


def test_of_many_combinations_of_runs_the_first_are_listed():
    runs = [state_of(mutants=30, killed={m: 2 for m in range(30) if m % 9 == n or m % 7 == n})
            for n in range(9)]  # fmt: skip
    of = RunComparison(9.0, runs_of(*runs))
    sets = {row.sides for row in who_killed(of)}
    (mutants,) = [s for s in compare_page(of, "").sections if s.title.startswith("Mutants")]
    listed = [part for part in mutants.parts if isinstance(part, Folded)]
    assert len(sets) > len(listed) == 20
    shown = [row[0].text for part in listed for table in part.parts for row in table.rows]
    assert len(set(shown)) == len(shown)
    (note,) = [part.text for part in mutants.parts if isinstance(part, Note)]
    assert f"{len(who_killed(of)) - len(shown)} mutant" in note
    assert f"{len(sets) - 20} other" in note


def test_groups_have_spread_and_tests():
    low = [state_of(n, found={"s": n} if n > 2 else {}) for n in (1, 2, 3, 4)]
    high = [state_of(n) for n in (11, 12, 13, 14)]
    of = RunComparison(9.0, runs_of(*low, *high, groups=[0] * 4 + [1] * 4), ["low", "high"])
    found = {t.figure: t for t in rank_tests(of)}
    assert found["edges"].p == pytest.approx(2 / 70)  # the smallest of 4 and 4
    assert found["edges"].a12 == 1.0
    assert (found["edges"].a, found["edges"].b, found["edges"].n) == ("low", "high", 4)
    assert found["findings"].a12 == pytest.approx(0.25)
    assert found["corpus"].p == 1.0 and found["corpus"].a12 == 0.5
    s = spread(of.values("edges", 1))
    assert (s.n, s.median, s.least, s.most, s.low, s.high) == (4, 12.5, 11, 14, 11.75, 13.25)
    assert spread([]) is None
    row = next(row for row in who_found(of) if row.key == "s")
    assert row.runs == (2, 0) and row.times[0] == 3.5
    page = compare_page(of, "")
    StrictPage(html_page(page)).check_harmless()
    text = plain_page(page)
    assert "4 and 4" in text and "Klees" in text and "0.029" in text
    data = json.loads(json.dumps(compare_json(of, []), allow_nan=False))
    assert data["groups"][1]["figures"]["edges"]["median"] == 12.5
    assert data["findings"][0]["first_s"] == {"low": 3.5, "high": None}
    assert data["tests"][2]["effect"] == "large"


def test_so_few_runs_that_no_test_can_tell_are_named():
    of = RunComparison(
        9.0, runs_of(*[state_of(n) for n in (1, 2, 3, 4)], groups=[0, 0, 1, 1]), "ab"
    )
    assert "p cannot be below 0.33" in plain_page(compare_page(of, ""))


def limits_of(*groups):
    """The limits of p on the page of groups with these edges."""
    states = [state_of(n) for group in groups for n in group]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    of = RunComparison(9.0, runs_of(*states, groups=numbers), "abcdef"[: len(groups)])
    (figures,) = [s for s in compare_page(of, "").sections if s.title == "Figures"]
    texts = [part.text for part in figures.parts if isinstance(part, Note)]
    return list(rank_tests(of)), [text for text in texts if "p cannot be below" in text]


def test_the_limit_of_p_is_that_of_each_pair_of_groups():
    _, limits = limits_of(range(1, 11), range(11, 21), [30])
    assert len(limits) == 1
    assert "c against a" in limits[0] and "below 0.18" in limits[0] and "0.091" in limits[0]
    assert limits_of(range(1, 11), range(11, 21))[1] == []


def test_no_p_is_below_the_limit_that_is_stated():
    tests, (limit,) = limits_of([1, 1], [2])
    assert min(t.p for t in tests) == pytest.approx(1 / 3)
    assert "0.33 if some values are equal" in limit


def test_what_no_statistics_have_told_yet_is_unknown_and_not_0():
    early = State()
    apply(early, [ev.Record(1, 0.0, ev.CampaignStarted("c", "mu2", "l:f", 3, version="1")),
                  ev.Record(2, 0.1, ev.InstanceState("main", "running"))])  # fmt: skip
    of = RunComparison(1.0, runs_of(early, state_of(mutants=0), groups=[0, 1]), "ab")
    assert [of.figure(of.runs[0], name) for name in ("execs", "corpus")] == [None, None]
    assert [t.figure for t in rank_tests(of)] == ["findings"]
    none = state_of(0, mutants=0)
    assert of.figure(runs_of(none)[0], "execs") == 0


def test_other_targets_are_refused():
    with pytest.raises(CannotCompare, match=r"'l:f' in r0; 'x:g' in r1"):
        check(runs_of(state_of(), state_of(target="x:g")))
    check(runs_of(state_of(target="/a/l.py:f"), state_of(target="/b/l.py:f")))


def notes_of(of):
    return " ".join(text for text, _ in notes(of))


def test_only_common_mutants_count():
    of = RunComparison(
        9.0, runs_of(state_of(killed={0: 1}), state_of(mutants=5, killed={0: 1, 4: 2}))
    )
    assert of.figure(of.runs[1], "killed") == 1
    assert of.figure(of.runs[1], "score") == pytest.approx(1 / 3)
    assert [row.key for row in who_killed(of)] == ["m0"]
    assert "the 3 that all runs have, of 5" in notes_of(of)
    with_zest = [*of.runs, *runs_of(state_of(mutants=0, engine="zest"))]
    of = RunComparison(9.0, with_zest)
    assert "r0 runs no mutants" in notes_of(of) and "that all runs have" not in notes_of(of)


def test_figures_that_cannot_be_compared_are_left_out_with_the_reason():
    of = RunComparison(9.0, runs_of(state_of(), state_of(mutants=0, engine="zest")))
    assert set(of.not_compared) == {"killed", "score"}
    assert "killed" not in of.figures() and who_killed(of) == []
    assert "r1 runs no mutants" in notes_of(of)
    of = RunComparison(9.0, runs_of(state_of(mutants=0), state_of(mutants=0, engine="afl")))
    assert set(of.not_compared) == {"edges", "edges_valid"}
    assert "edges" not in compare_json(of, [])["runs"][0]["figures"]
    assert notes_of(RunComparison(9.0, runs_of(state_of(), state_of()))) == ""
    of = RunComparison(9.0, runs_of(state_of(), state_of(total=50, version="2")))
    assert "50 to 99" in notes_of(of) and "versions of fuzztui: 1, 2" in notes_of(of)


def test_a_score_of_mutants_that_had_no_turn_is_not_compared():
    first = state_of()
    apply(first, [ev.Record(99, 9.0, ev.PhaseStarted("mutants"))])
    of = RunComparison(9.0, runs_of(first, state_of()))
    assert set(of.not_compared) == {"score"} and "killed" in of.figures()


def test_findings_that_nobody_has_described_are_counted_apart():
    state = state_of(found={"s": 2.0})
    apply(state, [ev.Record(99, 9.0, ev.FindingSaved("main", "crash", "crashes/x"))])
    of = RunComparison(9.0, runs_of(state, state_of()))
    assert of.figure(of.runs[0], "findings") == 1
    assert "r0: 1 finding without a signature" in notes_of(of)


def test_figures_are_formatted_by_what_they_are():
    assert shown("score", 0.12345) == "12.3%"
    assert [shown("edges", v) for v in (None, math.nan, 3, 12.5, 1234.5)] == [
        "-", "-", "3", "12.5", "1,234",
    ]  # fmt: skip
    assert [p_text(p) for p in (0.0001, 0.04)] == ["< 0.001", "0.040"]
