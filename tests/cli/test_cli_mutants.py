"""What the commands print about mutants."""

import argparse
from dataclasses import replace
from pathlib import Path

import pytest
from folding import fold
from run_logs import run_with

from fuzztui.cli import ctl, score
from fuzztui.cli.headless import progress_line
from fuzztui.cli.mutant_lines import status_rows, summary_line
from fuzztui.cli.mutants import details, mutant_dict, no_mutants, table
from fuzztui.cli.output import USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.cli.runs import RunStatus
from fuzztui.cli.since import name_in_tree
from fuzztui.cli.status import status_text
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.mutants import (
    RAN,
    REACHED,
    UNKNOWN_REACH,
    UNREACHED,
    WAITS,
    Knowledge,
    mutants_summary,
    survivors,
)
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import ExactPass, MarkEquivalent, MoveMutants, SkipMutants
from fuzztui.tools.changes.code import CodeChanges
from fuzztui.tools.changes.lines import ChangedFiles

HOSTILE = "[/x]\x1b[31m\u202e"


def item(key, line, before="a", after="b", **more):
    return {
        "id": key, "line": line, "function": "f", "operator": "math", "before": before,
        "after": after, **more,
    }  # fmt: skip


CAMPAIGN = fold(
    ev.MutantsFound("main", "lib.b", "lib/b.py", "/p/lib/b.py", [item("lib.b:f:math:0:-", 7)]),
    ev.MutantsFound(
        "main", "lib.a", "lib/a.py", "/p/lib/a.py",
        [
            item("lib.a:f:math:1:-", 30, HOSTILE, "y" * 200),
            item("lib.a:f:math:0:-", 3, static=True),
        ],
    ),
    ev.MutantState("main", "lib.a:f:math:1:-", "killed", "main/3", "value", 1234, "3, not 4"),
    ev.MutantState("main", "lib.a:f:math:0:-", "equivalent", reason=HOSTILE),
    ev.MutantRuns("s1", {"lib.b:f:math:0:-": [1000, 20, 3]}),
)  # fmt: skip
ROWS = list(CAMPAIGN.mutants.values())


def test_the_table_is_by_file_and_line_and_never_cuts_an_id():
    for width in (0, 20, 40, 60, 80, 200):
        lines = list(table(ROWS, width))
        assert [x for x in lines if x.endswith(".py")] == ["lib/b.py", "lib/a.py"]
        assert [x.split()[2] for x in lines if not x.endswith(".py")] == [
            "lib.b:f:math:0:-", "lib.a:f:math:0:-", "lib.a:f:math:1:-",
        ]  # fmt: skip
        assert all(len(x) <= max(width, 40) for x in lines) or not width
        assert not any("\x1b" in x or "\u202e" in x for x in lines)
    assert "y" * 200 in "".join(table(ROWS))
    assert list(table([])) == []


def test_a_line_of_totals():
    assert summary_line(mutants_summary(CAMPAIGN)) == (
        "3 mutants: 1 killed, 1 pending, 1 equivalent; 1 of all are static; "
        "score 33.3% (50.0% without skipped and equivalent)"
    )
    assert summary_line(mutants_summary(State())) == "0 mutants"


def test_all_that_is_known_of_one():
    b, killed, equivalent = ROWS
    text = "\n".join(details(killed))
    assert "killed by main/3 (value) at trial 1,234, 3s into the campaign" in text
    assert "3, not 4" in text
    assert "1,000 reached it, 20 infected; run 3 times" in "\n".join(details(b))
    text = "\n".join(details(equivalent))
    assert r"because   [/x]\e[31m\u202e" in text
    assert "code that runs at import" in text


def test_json_of_one():
    data = mutant_dict(ROWS[1])
    assert (data["id"], data["file"], data["line"]) == ("lib.a:f:math:1:-", "lib/a.py", 30)
    assert (data["operator"], data["state"], data["killer"]) == ("math", "killed", "main/3")
    assert mutant_dict(ROWS[0])["killer"] is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lib.b:f:math:0:+", "similar IDs are lib.b:f:math:0:-"),
        ("operator=mth", "operators: math"),
        ("?", "the IDs are lib.b:f:math:0:-, lib.a:f:math:1:-"),
    ],
)
def test_who_names_nobody_is_told_who_is_near(text, hint):
    failure = no_mutants(text, CAMPAIGN)
    assert hint in str(failure)
    assert failure.code == USAGE
    assert "c is for zest, not mu2" in str(no_mutants(text, State(name="c", engine="zest")))
    assert "none (yet)" in str(no_mutants(text, State(name="c", engine="mu2")))


# ------------------------------------------------------------------------ ctl


def command(*argv):
    options = parse(["ctl", "run", *argv])
    return ctl.ACTIONS[options.action].make(options)


def test_commands_about_mutants():
    assert command("skip-mutants", " operator=math ") == SkipMutants("operator=math")
    assert command("move-mutants", "a", "--to", "last") == MoveMutants("a", "last")
    assert command("move-mutants", "a") == MoveMutants("a", "first")
    made = command("mark-equivalent", "a", "--because", "it is", "--instance", "s1")
    assert made == MarkEquivalent("a", "it is", "s1")
    assert command("exact-pass") == ExactPass()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["skip-mutants"], "needs a mutant's ID or a selection"),
        (["skip-mutants", "color=red"], "no key 'color'"),
        (["exact-pass", "a"], "takes no ID"),
    ],
)
def test_wrong_commands_are_refused_before_anything_is_sent(argv, words):
    with pytest.raises(CliError, match=words) as failure:
        command(*argv)
    assert failure.value.code == USAGE


def test_an_option_of_another_command():
    with pytest.raises(CliError, match="--because is for mark-equivalent"):
        ctl.ctl(parse(["ctl", "run", "skip-mutants", "a", "--because", "x"]))


# --------------------------------------------------------------------- status


def big():
    many = [item(f"m{n}", n) for n in range(6)]
    return fold(
        ev.MutantsFound("main", "m", "m.py", "/m.py", many),
        ev.MutantState("main", "m1", "killed"),
        ev.MutantState("main", "m2", "skipped"),
        ev.MutantState("main", "m3", "equivalent"),
        ev.MutantState("main", "m4", "invalid"),
        ev.MutantState("main", "m5", "alive"),
        ev.MutationStats("main", 100.0, 200.0, 50.0, 50.0, phase="exact", backlog=1234),
        ev.InstanceState("main", "restarting", 1),
        ev.Stats("main", 123_456_789, 12_345.0, 12_345, crashes=999, edges=5, edges_total=10),
    )


def test_status_fits_80_columns():
    state = big()
    for word in state.mutant_counts:
        state.mutant_counts[word] = 12_345
    text = status_text(Path("/run"), RunStatus(state, 1))
    assert max(map(len, text.splitlines())) <= 80, text
    assert "killed" in text


def test_status_tells_of_mutants():
    rows = dict(status_rows(big()))
    assert rows == {
        "mutants": "6: 1 killed, 1 alive, 1 pending, 1 skipped, 1 equivalent, 1 invalid",
        "score": "20.0% (33.3% without skipped and equivalent)",
        "time": "target 25%, mutants 50%, compiling 12%, other 12%",
        "now": "exact pass, 1,234 inputs to go",
    }
    line = summary_line(mutants_summary(big()))  # of `score` and `mutants list`
    assert all(part in line for part in (rows["mutants"].partition(": ")[2], rows["score"]))
    assert dict(status_rows(State())) == {}
    wrong = fold(
        ev.MutantState("main", "a", "alive"), ev.MutationStats("main", audits=90, audit_kills=1)
    )
    assert "1 of 90" in dict(status_rows(wrong))["audit"]


def test_status_has_what_is_left_of_the_exact_pass():
    state = big()
    apply(
        state,
        [ev.Record(99, 9.0, ev.MutationStats("main", phase="exact", unsettled=7, left_s=80.0))],
    )
    rows = dict(status_rows(state))
    assert rows["score"].startswith("at least 20.0%")
    assert rows["now"] == "exact pass, 7 pairs of mutants and inputs to go, about 1m20s left"
    assert rows["now"] in progress_line(state)
    apply(state, [ev.Record(100, 9.1, ev.CampaignEnded("finished", ""))])
    rows = dict(status_rows(state))
    assert rows["score"].startswith("at least 20.0%")
    assert "now" not in rows and rows["unsettled"].startswith("7 pairs")
    apply(state, [ev.Record(101, 9.2, ev.MutationStats("main", unsettled=0))])
    rows = dict(status_rows(state))
    assert rows["score"].startswith("20.0%")
    assert "now" not in rows and "unsettled" not in rows


@pytest.mark.parametrize(
    ("instances", "select", "explained"),
    [(1, "state=alive", False), (2, "state=alive", True), (2, "operator=math", False)],
)
def test_why_an_instance_may_select_more_is_said(monkeypatch, capsys, instances, select, explained):
    state = big()
    for n in range(1, instances):
        apply(state, [ev.Record(99 + n, 9.0, ev.MutationStats(f"s{n}"))])
    monkeypatch.setattr(ctl, "standing", lambda run: RunStatus(state, 1))
    ctl._report_selection(Path("/run"), select)
    err = capsys.readouterr().err
    assert "selects" in err
    assert ("may select more" in err) is explained


def test_the_progress_line_has_kills():
    assert "killed 1/6" in progress_line(big())
    assert "killed" not in progress_line(State())


# ---------------------------------------------------------------------- score

RESULT = {
    "inputs": 12,
    "flaky": 2,
    "score": 0.5,
    "warnings": [f"input 1: prog:fill runs once{HOSTILE}"],
    "mutants": [
        {**item("a", 3), "file": "x.py", "state": "killed", "killer": "q/1", "oracle": "value"},
        {**item("b", 4, operator="negate"), "file": "x.py", "state": "alive"},
        {**item("c", 5), "file": f"y.py{HOSTILE}", "state": "pending"},
        {**item("d", 6), "file": "x.py", "state": "invalid", "detail": "no"},
        "rubbish",
        {"id": 4},
    ],
}


def test_the_report_of_a_score():
    lines = list(score.report(RESULT, [Path("/q")], survivors=False))
    text = "\n".join(lines)
    assert "inputs  12  (2 flaky, not used" in text
    assert "4 mutants: 1 killed, 1 alive, 1 never reached, 1 invalid; score 33.3%" in text
    cells = [line.split() for line in lines]
    assert ["math", "3", "1", "50.0%"] in cells
    assert ["negate", "1", "0", "0.0%"] in cells
    assert ["x.py", "3", "1", "50.0%"] in cells
    assert "2 not killed (1 alive, 1 never reached): --survivors" in text
    assert "prog:fill runs once" in text
    assert "\x1b" not in text


def test_survivors():
    text = "\n".join(score.report(RESULT, [], survivors=True))
    assert "alive      4 b" in text
    assert "never reached 5 c" in text
    assert "killed     3 a" not in text
    assert text.index(f"{RAN}:") < text.index(f"{UNREACHED}:")
    assert REACHED not in text
    c = {**RESULT["mutants"][2], "reached": True}
    text = "\n".join(score.report({**RESULT, "mutants": [c]}, [], survivors=True))
    assert REACHED in text and UNREACHED not in text


def test_survivors_are_grouped_by_what_the_inputs_did_to_them():
    state = fold(
        ev.MutantsFound("main", "m", "m.py", "/m.py", [item(n, 1) for n in "abcdef"]),
        ev.MutantRuns("main", {"a": [0, 0, 0], "b": [3, 0, 0], "c": [3, 1, 0], "d": [9, 9, 9]}),
        ev.MutantState("main", "d", "alive"),
        ev.MutantState("main", "e", "killed"),
        ev.MutantState("main", "f", "equivalent"),
    )
    rows = state.mutants.values()
    groups = {name: [m.id for m in those] for name, those in survivors(rows).items()}
    assert groups == {RAN: ["d"], WAITS: ["c"], REACHED: ["b"], UNREACHED: ["a"]}
    assert [*groups] == [RAN, WAITS, REACHED, UNREACHED]
    older = survivors(rows, Knowledge(reach=False))
    assert [m.id for m in older[UNKNOWN_REACH]] == ["a"]


def test_without_an_input_no_score_is_exact():
    unjudged = [{**item("a", 3), "state": "pending"}]
    for inputs, flaky, exact in ((0, 0, False), (2, 2, False), (2, 0, True)):
        result = {"exact": True, "inputs": inputs, "flaky": flaky, "mutants": unjudged}
        assert mutants_summary(score.state_of(result)).exact is exact


def test_a_score_that_is_not_exact():
    text = "\n".join(score.report({**RESULT, "exact": False}, [], survivors=False))
    assert "score at least 33.3%" in text
    assert "at least" not in "\n".join(score.report({**RESULT, "exact": True}, [], survivors=False))


def test_a_result_that_is_rubbish():
    assert list(score.report({"mutants": 3}, [], survivors=True))


def test_progress_is_a_line_now_and_then_where_nobody_looks(capsys, monkeypatch):
    progress = score._Progress()
    for n in range(5):
        progress.show({"what": HOSTILE, "done": n, "total": 5, "killed": n})
    progress.clear()
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "\x1b" not in err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = score._Progress()
    progress.show({"what": "inputs", "done": 1, "total": 5, "killed": 3})
    progress.clear()
    assert "inputs: 1 of 5, 3 mutants killed\r\x1b[K" in capsys.readouterr().err


def test_parsing_score_and_mutants():
    options = parse(["score", "run", "--corpus", "a", "--corpus", "b", "--survivors"])
    assert isinstance(options, argparse.Namespace)
    assert options.corpus == [Path("a"), Path("b")]
    options = parse(["mutants", "list", "f.toml", "operator=math", "file=x", "--json"])
    assert (options.what, options.selections) == ("list", ["operator=math", "file=x"])


def test_selections_may_follow_options() -> None:
    options = parse(["mutants", "list", "--json", "f.toml", "operator=math", "--set", "a=1", "m1"])
    assert (options.path, options.json) == (Path("f.toml"), True)
    assert options.selections == ["operator=math", "m1"]


def test_after_a_loss_of_records_status_claims_no_more_than_is_known():
    def rows(state):
        lines = status_text(Path("/run"), RunStatus(state, 1)).splitlines()
        return {line.split()[0]: line for line in lines}

    whole, lost = rows(CAMPAIGN), rows(replace(CAMPAIGN, lost=3))
    for name in ("mutants", "score"):
        assert lost[name] != whole[name]
        assert lost[name].startswith(whole[name])


@pytest.mark.parametrize("lost", [False, True])
def test_after_a_loss_of_records_the_list_claims_no_more_than_is_known(tmp_path, cli, lost):
    (tmp_path / "campaign.toml").touch()
    run_with(
        tmp_path,
        *[ev.RecordsLost(1)] * lost,
        ev.MutantsFound("main", "m", "m.py", "/m.py", [item("m:f:math:0:-", 7)]),
        ev.MutantState("main", "m:f:math:0:-", "killed", "main/3", "value"),
    )
    assert ("of the known mutants" in cli("mutants", "list", tmp_path).out) is lost


def test_a_path_of_a_log_that_can_be_none_has_no_name(tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path in (Path("a\0b"), tmp_path / "circle"):
        assert name_in_tree(path) is None
        assert not CodeChanges(ChangedFiles(tmp_path, {}, "")).in_changed_code(str(path), 1)
