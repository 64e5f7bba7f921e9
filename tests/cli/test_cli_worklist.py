"""What the commands print about mutants that are fuzzed one by one."""

import csv
import io
import json
from pathlib import Path

import pytest
from folding import fold

from fuzztui.cli import ctl, main, mutants_matrix, score, worklist
from fuzztui.cli.headless import progress_line
from fuzztui.cli.mutants import details, mutant_dict, no_mutants
from fuzztui.cli.output import USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.cli.runs import RunStatus
from fuzztui.cli.status import status_text
from fuzztui.features.fuzzfirst.fold import first_dict
from fuzztui.features.fuzzfirst.kill_matrix import KillMatrix
from fuzztui.kernel.model.selectors import running_time
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import MoveMutants
from fuzztui.tools.status.status import status_dict

HOSTILE = "[/x]\x1b[31m\u202e"
ERROR = f"a.c:2: error: {HOSTILE}\n  here\n"


def campaign(*more, stage="mutants"):
    rows = [
        {"id": f"a.c#{i}", "line": i + 1, "operator": "x", "before": "    if (a < b) {",
         "after": f"    if (a <= {i}) {{", "place": float(i)}
        for i in range(9)
    ]  # fmt: skip
    done = {"entries": 12, "edges": 1, "crashes": 0, "hangs": 0, "kills": 2, "kept": 5, "aside": 1}
    return fold(
        ev.CampaignStarted("c", "afl", "t", 1, 200.0, 0, ["main"], 1.0, "0"),
        ev.CampaignState("running"),
        ev.PhaseStarted("mutants", {"mutants_s": 100.0, "each_s": 30.0, "abreast": 1}),
        ev.MutantsFound("", "", "a.c", "/a.c", rows),
        ev.InstanceState("main", "waiting"),
        ev.InstanceHello("m1", mutant="a.c#0"),
        ev.MutantProgress("a.c#0", "fuzzing", "m1", costs={"build": 0.5}),
        ev.Stats("m1", 1200, crashes=3),
        ev.EntrySaved("handed", 0, "queue/id:0", [9], "", "m1"),
        ev.MutantProgress("a.c#0", "done", "m1", brought=done),
        ev.MutantState("", "a.c#0", "killed", "m1/9", "crash"),
        ev.InstanceState("m1", "finished"),
        ev.MutantState("", "a.c#1", "invalid", reason="it does not build"),
        ev.MutantProgress("a.c#1", "failed", reason=ERROR),
        ev.MutantProgress(
            "a.c#2", "dropped", reason="the same program as a.c#0 once it is compiled"
        ),
        ev.InstanceHello("m2", mutant="a.c#3"),
        ev.MutantProgress("a.c#3", "fuzzing", "m2"),
        ev.InstanceState("m2", "running"),
        ev.MutantState("", "a.c#4", "skipped", reason="by hand"),
        ev.MutantPositions({"a.c#8": -1.0}),
        *([ev.PhaseStarted("target")] if stage == "target" else []),
        *more,
    )


def table(state, width=0):
    return list(
        worklist.worklist_table(state, worklist.worklist_rows(state, state.mutants.values()), width)
    )


def test_the_list_is_the_queue():
    lines = table(campaign())
    assert [line.split("a.c#")[1][0] for line in lines if "a.c#" in line] == list("308567124")
    assert [line[:4].strip() for line in lines] == ["", "", "1", "2", "-", "3", "4", *[""] * 3]
    assert "the mutants' budget ends here" in lines[4]
    assert [line.split()[0] for line in lines[7:]] == ["failed", "dropped", "skipped"]
    assert "done       killed 1 a.c#0" in lines[1]
    assert "if (a < b) {  ->  if (a <= 3) {" in lines[0]


def test_mutants_that_cannot_run_any_more_are_last():
    lines = table(campaign(stage="target"))
    assert [line.split("a.c#")[1][0] for line in lines if "a.c#" in line] == list("301248567")
    assert ["no turn" in line for line in lines] == [*[False] * 5, *[True] * 4]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_line_fits_and_an_id_is_never_cut(width):
    lines = table(campaign(), width)
    assert all(len(line) <= max(width, 38) for line in lines)
    assert sum("a.c#" in line for line in lines) == 9


def test_rounds_of_mutants():
    why = "stuck: no new edge in 12 s"
    plan = {"mutants_s": 60.0, "each_s": 30.0, "abreast": 1, "round": 2, "round_began": 48.0}
    plan["began_s"] = 1000.0
    here = [ev.PhaseStarted("target"), ev.PhaseStarted("mutants", {**plan, "before_s": 48.0}, why)]
    state = campaign(*here)
    rows = dict(worklist.stage_rows(state))
    assert rows["phase"] == "round 2, mutants: 0s of 12s used"
    assert (rows["because"], rows["queue"]) == (why, "the round allows 0 of 4 waiting mutants")
    assert any("the round ends here" in line for line in table(state))
    first = status_dict(state)["first"]
    assert (first["round"], first["reason"], first["mutants_budget"]) == (2, why, 12.0)
    # The target has its turn: mutants wait for the next one.
    back = ev.PhaseStarted("target", {**plan, "before_s": 60.0, "stuck_s": 12.0})
    state = campaign(*here, back)
    rows = dict(worklist.stage_rows(state))
    assert rows["phase"] == "the target, after 2 rounds, 1m00s of mutants; mutants when it is stuck"
    assert "because" not in rows and "4 waiting" in rows["mutants"]
    assert not any("ends here" in line or "no turn" in line for line in table(state))
    # No round follows.
    state = campaign(*here, back, ev.PhaseStarted("target", {**state.plan, "stuck_s": 0.0}))
    assert dict(worklist.stage_rows(state))["phase"].endswith("after 2 rounds, 1m00s of mutants")
    assert any("no turn" in line for line in table(state))


def test_what_roadblocks_hide():
    assert not any("hides" in line for line in table(campaign()))
    change = {"before": "a", "after": "b"}
    rows = [{"id": "a.c#5", "line": 6, "place": 5.0, "roadblock": 5, "hides": 1200, **change}]
    state = campaign(ev.MutantsFound("", "", "a.c", "/a.c", rows))
    (line,) = (line for line in table(state) if "hides" in line)
    assert line.endswith("a.c#5  hides 1,200  a  ->  b")
    mutant = state.mutants["a.c#5"]
    turn = worklist.turn_dict(state, mutant)
    assert (turn["hides"], turn["roadblock"]) == (1200, 5)
    words = "hides     a roadblock (line 5): when it was ranked, 1,200 lines were never executed"
    assert any(words in line for line in worklist.turn_details(state, mutant))
    other = worklist.turn_dict(state, state.mutants["a.c#6"])
    assert (other["hides"], other["roadblock"]) == (0, None)


def test_when_the_target_is_fuzzed_no_budget_ends():
    assert not any("budget" in line for line in table(campaign(stage="target")))


def test_json_of_a_turn():
    state = campaign()
    turn = worklist.turn_dict(state, state.mutants["a.c#0"])
    json.dumps({**mutant_dict(state.mutants["a.c#0"]), **turn}, allow_nan=False)
    assert (turn["stage"], turn["slot"], turn["trials"], turn["share"]) == ("done", "m1", 1200, 30)
    assert turn["costs"] == {"build": 0.5}
    assert turn["queue"] is None
    assert worklist.turn_dict(state, state.mutants["a.c#2"])["same_as"] == "a.c#0"
    assert worklist.turn_dict(state, state.mutants["a.c#8"], 1)["queue"] == 1


def test_all_that_is_known_of_one():
    state = campaign()

    def text(id):
        mutant = state.mutants[id]
        return "\n".join([*details(mutant), *worklist.turn_details(state, mutant)])

    for words in ("done in m1", "3s, 1,200 execs", "12 entries, 1 edge to the target",
                  "pruned    1; 5 inputs kept", "killed by 2 inputs", "build 0.50 s"):  # fmt: skip
        assert words in text("a.c#0"), words
    assert "queued, number 1 of 4 waiting" in text("a.c#8")
    assert "same as   a.c#0" in text("a.c#2")
    assert r"because   a.c:2: error: [/x]\e[31m\u202e" in text("a.c#1")
    assert "            here" in text("a.c#1")
    assert worklist.diff_of(state.mutants["a.c#0"]) == (
        "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-    if (a < b) {\n+    if (a <= 0) {\n"
    )


def test_status_tells_the_stage():
    text = status_text(Path("/run"), RunStatus(campaign(), 1))
    assert max(map(len, text.splitlines())) <= 80
    for words in (
        "phase     1 of 2, mutants: 20s of 1m40s used; the target phase begins in 1m20s",
        "mutants   9: 1 at work, 1 done, 4 waiting",
        "others    1 failed, 1 dropped, 1 skipped",
        "queue     the budget allows",
        "now       m2 fuzzing a.c:4,",
        "score     100.0% (1 of 1 killed)",
        "transfer  12 entries, 1 edge to the target",
        "handed    by mutants",
        "1 instance that fuzzed mutants ended",
    ):
        assert words in text, words
    assert "  m1 " not in text
    assert "  m2 " in text
    text = status_text(Path("/run"), RunStatus(campaign(stage="target"), 1))
    assert "phase     2 of 2, the target, after" in text
    assert "target: 1 of 1 killed" in progress_line(campaign(stage="target"))


def test_another_turn_takes_back_nothing():
    """What it brought is the target's, and its kills are in the matrix."""
    before, state = campaign(), campaign()
    fold(ev.MutantState("", "a.c#0", "pending"), ev.MutantProgress("a.c#0", "queued"), state=state)
    text = status_text(Path("/run"), RunStatus(state, 1))
    assert "score     100.0% (1 of 1 killed)" in text
    assert "transfer  12 entries, 1 edge to the target" in text
    assert first_dict(state)["brought"] == first_dict(before)["brought"]
    mutant = state.mutants["a.c#0"]
    shown = "\n".join(worklist.turn_details(state, mutant))
    assert "earlier   12 entries, 1 edge to the target; 2 inputs killed it" in shown
    assert "\nkills " not in shown
    assert worklist.turn_dict(state, mutant)["verdict"] == "killed"
    again = {"entries": 3, "kills": 4, "aside": 2}
    fold(ev.MutantProgress("a.c#0", "done", "m9", brought=again), state=state)
    sums = first_dict(state)["brought"]
    assert (sums["entries"], sums["kills"], sums["aside"]) == (15, 4, 3)


def test_budgets_are_rounded():
    plan = {"mutants_s": 119.99935, "each_s": 0.25, "abreast": 1}
    text = status_text(Path("/run"), RunStatus(campaign(ev.PhaseStarted("mutants", plan)), 1))
    assert "of 2m00s used" in text
    assert "of 0.2s" in text


def test_who_names_nobody_in_a_queue():
    assert "a.c#0" in str(no_mutants("a.c#00", campaign()))
    assert "the IDs are a.c#0, a.c#1, a.c#2 and 6 more" in str(no_mutants("m9", campaign()))
    assert "m1 is the turn of the mutant a.c#0" in str(no_mutants("m1", campaign()))
    empty = fold(ev.PhaseStarted("mutants"))
    assert "has ranked none yet" in str(no_mutants("x", empty))
    for text, hint in (
        ("stage=foo", "stages: done, dropped, failed, fuzzing, queued, skipped"),
        ("state=foo", "states: invalid, killed, pending, skipped"),
        ("line=99", "lines: 1, 2, 3"),
        ("function=checksum", "only with mutants.functions"),
        ("line=1,stage=skipped", "no mutant matches all"),
    ):
        assert hint in str(no_mutants(text, campaign())), text
    rows = [{"id": f"a.c#{i}", "line": i, "operator": f"op{i}", "place": i} for i in range(500)]
    many = fold(ev.PhaseStarted("mutants"), ev.MutantsFound("", "", "a.c", "/a.c", rows))
    for text in ("operator=xyz", "operator=op4444"):
        assert len(str(no_mutants(text, many))) < 200


def test_what_is_only_for_python_targets_says_so(tmp_path, monkeypatch):
    state = RunStatus(campaign(), 1)
    for module, find in (("score", "find_one_target"), ("ctl", "find_run")):
        monkeypatch.setattr(f"fuzztui.cli.{module}.{find}", lambda run: tmp_path)
        monkeypatch.setattr(f"fuzztui.cli.{module}.standing", lambda run: state)
    with pytest.raises(CliError, match=r"not for afl; see 'fuzztui mutants matrix"):
        score.score(parse(["score", str(tmp_path)]))
    monkeypatch.setattr(ctl, "ControlClient", lambda run, name: io.StringIO())
    with pytest.raises(CliError, match=r"for engine mu2; .* is afl"):
        ctl.ctl(parse(["ctl", str(tmp_path), "exact-pass"]))


def test_points_of_time_are_read_as_they_are_written():
    for text, seconds in (("0:20", 20), ("1:05:09", 3909), ("2d 03:04:05", 183845), ("90s", 90)):
        assert parse(["replay", "run", "--at", text]).at == seconds
    for text in ("0:99", ":20", "1:2:3:4"):
        with pytest.raises(SystemExit):
            parse(["replay", "run", "--at", text])


def test_json_tells_running_time():
    state = campaign()
    fold(ev.CampaignState("paused"), ev.CampaignState("running"), state=state)
    status = status_dict(state)
    assert status["running_s"] == running_time(state) <= status["elapsed_s"]


def test_moving_up_and_down():
    for to in ("first", "last", "up", "down"):
        options = parse(["ctl", "run", "move-mutants", "a.c#1", "--to", to])
        assert ctl.ACTIONS[options.action].make(options) == MoveMutants("a.c#1", to)


@pytest.fixture
def run(tmp_path, monkeypatch):
    matrix = KillMatrix(tmp_path / "mutants" / "kills.jsonl")
    matrix.add("a.c#0", {"m1/9": "crash"})
    matrix.add("a.c#3", {f"m2/{i}": "hang" for i in range(5)} | {"m1/9": "crash"})
    matrix.add(HOSTILE, {HOSTILE: HOSTILE})
    monkeypatch.setattr(mutants_matrix, "standing", lambda run: RunStatus(campaign(), 1))
    monkeypatch.setattr("fuzztui.cli.mutants_matrix.find_one_target", lambda path: path)
    return tmp_path


def test_the_matrix_as_text(run, cli):
    lines = cli("mutants", "matrix", run).out.splitlines()
    assert lines[0].split() == ["inputs", "mutant", "killed", "by"]
    assert lines[1].split()[:2] == ["6", "a.c#3"]
    assert "m2/0 (hang), m2/1 (hang), m2/2 (hang) and 3 more" in lines[1]
    assert "3 mutants killed by 7 inputs, 2 of them by one input only; 0 alive" in lines[-2]
    assert lines[-1].startswith("the inputs that kill most: m1/9 (2)")
    assert not any("\x1b" in line for line in lines)


def test_the_matrix_for_programs(run, cli):
    data = cli("mutants", "matrix", run, "--json").json
    assert [row["id"] for row in data["killed"]] == ["a.c#0", "a.c#3", HOSTILE]
    assert data["killed"][0]["killers"] == {"m1/9": "crash"}
    assert (data["killed"][1]["file"], data["killed"][1]["line"]) == ("a.c", 4)
    rows = list(csv.DictReader(io.StringIO(cli("mutants", "matrix", run, "--csv").out)))
    assert len(rows) == 8
    assert rows[0] == {
        "mutant": "a.c#0", "file": "a.c", "line": "1", "input": "m1/9", "oracle": "crash",
    }  # fmt: skip


def test_a_matrix_of_nothing(tmp_path, monkeypatch, cli, capsys):
    monkeypatch.setattr("fuzztui.cli.mutants_matrix.find_one_target", lambda path: path)
    monkeypatch.setattr(mutants_matrix, "standing", lambda run: RunStatus(campaign(), 1))
    assert cli("mutants", "matrix", tmp_path).out == "no mutant is killed yet\n"
    monkeypatch.setattr(mutants_matrix, "standing", lambda run: RunStatus(State(), 1))
    assert main(["mutants", "matrix", str(tmp_path)]) != 0
    assert "there is no kill matrix" in capsys.readouterr().err


def test_wrong_words(tmp_path):
    assert main(["mutants", "list", str(tmp_path), "--csv"]) == USAGE
    assert main(["mutants", "matrix", str(tmp_path), "operator=x"]) == USAGE
