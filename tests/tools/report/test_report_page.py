"""The report of one run, from a state."""

import json

import pytest
from hosted import hosted
from strict_html import StrictPage

from fuzztui.kernel.base.page import PageChart
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.report.findings import bounded
from fuzztui.tools.report.html import html_page
from fuzztui.tools.report.markdown import markdown_page
from fuzztui.tools.report.over_time import over_time
from fuzztui.tools.report.run import FindingInput, ReportedRun, short_target
from fuzztui.tools.report.run_page import run_json, run_page
from fuzztui.tools.report.setup import flat_keys, utc

HOSTILE = "<script>x</script>\x1b\ud800"


def state_of(*timed):
    state = State()
    apply(state, [ev.Record(n, t, event) for n, (t, event) in enumerate(timed, 1)])
    return state


def mutant(name, line, **more):
    return {"id": name, "line": line, "function": "f", "operator": "math", "before": "a + b",
            "after": "a - b", **more}  # fmt: skip


@pytest.fixture
def state():
    command = {"c": "promote", "entry": 1, "instance": "main"}
    target = "/checkouts/u/lib.py:f"
    found = [mutant(f"m{n}", n) for n in range(6)] + [mutant("s", 9, static=True)]
    return state_of(
        (0, ev.CampaignStarted("c", "mu2", target, 7, 60.0, wall=1e9, version="9")),
        (0, ev.SupervisorStarted(1, 1e9, "host", cores=4)),
        (0, ev.InstanceHello("main", "mu2", "9", "3.11")),
        (0, ev.InstanceState("main", "running")),
        (1, ev.MutantsFound("main", "lib", "lib.py", "/lib.py", found)),
        (1, ev.MutantState("main", "m0", "killed", killer="main/1", oracle="value")),
        (2, ev.MutantState("main", "m1", "alive")),
        (2, ev.MutantRuns("main", {"m2": [3, 1, 0], "m3": [5, 0, 0]},
                          {"m3": ["main/4", "reached"]})),
        (2, ev.MutationStats("main", unsettled=3)),
        (3, ev.EntrySaved("main", 1, "queue/id:000001", size=4, execs=10)),
        (3, ev.EntryDescribed("main", 1, ["edge"])),
        (4, ev.Stats("main", 5000, 50.0, 1, edges=30, edges_total=99)),
        (5, ev.FindingSaved("main", "crash", "crashes/id:000000", op="havoc")),
        (5, ev.FindingDescribed("main", "crash", "crashes/id:000000", "sig", "KeyError: 'a'",
                                "lib.py:3 in f", "Traceback\nKeyError: 'a'")),
        (6, ev.FindingSaved("main", "crash", "crashes/id:000001")),
        (6, ev.FindingDescribed("main", "crash", "crashes/id:000001", "known", HOSTILE)),
        (6, ev.VerdictsChanged([{"signature": "known", "verdict": "known", "author": "ann",
                                 "note": HOSTILE}])),
        (7, ev.CommandIssued("c1", command, "bob")),
        (8, ev.CommandApplied("c1", "main", detail="promoted")),
        (9, ev.CampaignEnded("finished", "the budget is used up")),
    )  # fmt: skip


def report_of(state, **more):
    inputs = {
        "main/crashes/id:000000": FindingInput("runs/c/f", "fuzztui repro runs/c runs/c/f", "abc",
                                               "text", 3)
    }  # fmt: skip
    defaults = {"inputs": inputs, "written": "today", "version": "9"}
    return ReportedRun(state, state.state, [("state", "finished")], **{**defaults, **more})


def test_the_page_has_all_that_the_run_has(state):
    page = run_page(report_of(state, keys=[("engine.kind", '"mu2"')]))
    titles = [section.title for section in page.sections]
    assert titles == ["Story", "Result", "Over time", "Findings: 2 groups", "Mutants", "Corpus",
                      "Steering", "How it was run"]  # fmt: skip
    parsed = StrictPage(html_page(page))
    parsed.check_harmless()
    for text in (
        "fuzztui repro runs/c runs/c/f", "KeyError: 'a'", "lib.py:3 in f", "promote", "bob",
        "promoted", "engine.kind", "4 cores", "2001-09-09", "known by ann",
    ):  # fmt: skip
        assert text in parsed.text, text
    assert "<script>" not in html_page(page)
    assert "lib.py:f" in page.about and "/checkouts/u" not in page.about
    markdown_page(page).encode()


def test_groups_with_a_verdict_come_last(state):
    text = markdown_page(run_page(report_of(state)))
    assert text.index("KeyError") < text.index("known by ann")


def test_a_score_with_pending_mutants_is_a_lower_bound(state):
    text = markdown_page(run_page(report_of(state)))
    assert "at least 14.3%" in text  # 1 of 7
    assert "### not run: 5" in text and "never reached" not in text
    assert "main/4 (reached)" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| <code>f<")]
    assert row.split("|")[3:8] == [" 7 ", " 1 ", " 14% ", " 1 ", " 5 "], "what did not run is apart"
    apply(state, [ev.Record(99, 9.0, ev.MutationStats("main", unsettled=0))])
    text = markdown_page(run_page(report_of(state)))
    assert "at least" not in text
    groups = ("ran, and made no difference: 1", "not run: 2", "reached, and never infected"
              ": 1", "never reached: 2")  # fmt: skip
    places = [text.index(f"### {group}") for group in groups]
    assert places == sorted(places)


def test_a_score_of_an_older_engine_with_pending_mutants_is_a_lower_bound():
    found = [mutant("m1", 1), mutant("m2", 2)]
    state = state_of(
        (0, ev.MutantsFound("main", "lib", "lib.py", "/lib.py", found)),
        (1, ev.MutantState("main", "m1", "killed")),
    )  # it does not say whether its score is exact
    assert "Score at least 50.0%" in markdown_page(run_page(report_of(state)))
    apply(state, [ev.Record(9, 2.0, ev.MutantState("main", "m2", "alive"))])
    assert "Score 50.0%" in markdown_page(run_page(report_of(state)))


def test_the_data_has_what_the_page_has(state):
    data = json.loads(json.dumps(run_json(report_of(state), ["gone"])))
    assert data["problems"] == ["gone"]
    found = {row["signature"]: row for row in data["findings"]}
    assert found["sig"]["detail"].startswith("Traceback")
    assert found["sig"]["reproduce"] == "fuzztui repro runs/c runs/c/f"
    assert found["sig"]["input"] == "abc"
    assert found["known"]["verdict"] == "known" and found["known"]["reproduce"] is None
    assert {name: len(those) for name, those in data["survivors"].items()} == {
        "ran, and made no difference": 1, "not run": 5,
    }  # fmt: skip
    assert data["series"]["execs"]["value"][-1] == 5000
    assert data["commands"][0]["by"] == "bob"
    assert [row["id"] for row in data["receipts"]] == ["c1"]
    assert data["receipts"][0]["text"] in markdown_page(run_page(report_of(state)))
    assert data["setup"]["versions"] == {"fuzztui": "9", "main": "9"}


@pytest.mark.parametrize(
    "timed", [[], [(0, ev.CampaignStarted("c", "zest"))], [(3, ev.CampaignState("running"))]]
)
def test_a_run_without_anything_has_a_report(timed):
    state = state_of(*timed)
    for damage in ("", "the log is damaged"):
        report = report_of(state, damage=damage)
        StrictPage(html_page(run_page(report))).check_harmless()
        text = markdown_page(run_page(report))
        assert ("damaged" in text) == bool(damage)
        json.dumps(run_json(report, []))


def test_numbers_of_a_damaged_log_are_lower_bounds(state):
    text = markdown_page(run_page(report_of(state, damage="the log is damaged")))
    assert "Findings: at least 2 groups" in text
    apply(state, [ev.Record(99, 9.0, ev.MutationStats("main", unsettled=0))])
    text = markdown_page(run_page(report_of(state, damage="the log is damaged")))
    assert "at least 14.3%" in text


def test_a_watched_campaign_has_no_charts(state):
    page = run_page(report_of(state, has_history=False))
    assert "<svg" not in html_page(page)
    assert run_json(report_of(state, has_history=False), [])["series"] == {}


def test_a_report_names_no_random_seed_or_budget_of_a_watched_campaign(state):
    own = html_page(run_page(report_of(state)))
    watched = html_page(run_page(report_of(state, has_history=False)))
    for row in ("random seed", "budget"):
        assert f">{row}<" in own
        assert f">{row}<" not in watched


def test_what_may_be_secret_is_not_shown():
    target = {"env": {"TOKEN": "hunter2"}, "function": "a:b"}
    notify = {"command": ["curl", "https://hooks/hunter2"]}
    keys = dict(flat_keys({"target": target, "notify": notify}))
    assert keys["target.function"] == "a:b"
    assert "hunter2" not in str(keys)
    assert set(keys) == {"target.env.TOKEN", "target.function", "notify.command"}


def test_a_long_report_keeps_its_start_and_its_end():
    text = bounded("\n".join(f"line {n}" for n in range(10_000)))
    assert "line 0\n" in text and text.endswith("line 9999")
    assert text.count("\n") < 70
    assert len(bounded("x" * 10**6)) < 1000
    assert len(bounded("\n".join(["y" * 10**4] * 60))) < 9000


def test_a_target_is_known_without_its_directory():
    assert short_target("/a/b/harness.py:f") == "harness.py:f"
    assert short_target("tomllib:loads") == "tomllib:loads"
    assert short_target("./x -f /tmp/y") == "./x -f /tmp/y"
    assert short_target("") == ""
    assert utc(1e30) == "unknown"


def test_engines_have_sections_of_their_own():
    first = state_of(
        (0, ev.CampaignStarted("c", "zest", "l:f")),
        (0, ev.PhaseStarted("mutants", {"mutants_s": 9.0})),
        (1, ev.MutantsFound("", "l", "l.py", "/l.py", [mutant("m1", 1, place=0.0),
                                                       mutant("m2", 2, place=1.0)])),
        (2, ev.MutantProgress("m1", "done", brought={"edges": 4, "entries": 2, "aside": 9})),
        (3, ev.MutantState("", "m1", "alive")),
    )  # fmt: skip
    text = markdown_page(run_page(report_of(first)))
    assert "2 entries and 4 edges" in text and "9 aside" not in text
    assert "fuzzed, and not killed: 1" in text
    texts = state_of(
        (0, ev.CampaignStarted("c", "text", "l:f")),
        (1, ev.MutatorStats("main", names=["havoc", "delete-word"], tried=[9, 8], applied=[7, 6],
                            found=[1, 5], crashes=[0, 0])),
    )  # fmt: skip
    text = markdown_page(run_page(report_of(texts)))
    assert "## Mutators" in text and "delete-word" in text
    goals = state_of(
        (0, ev.CampaignStarted("c", "spoton", "l:f")),
        (1, ev.TargetingStats("main", 0.5, names=["int"], distances=[1], targets=9, uncovered=1)),
        (2, ev.GoalsUncovered("main", 9, {"l.py:3:then": {"reached": 4, "types": [["int", 1]]}})),
    )
    text = markdown_page(run_page(report_of(goals)))
    assert "8 of 9 goals covered" in text and "l.py:3:then" in text


def test_hosts_are_in_the_page_without_their_addresses():
    state = State()
    apply(state, hosted(3, 2).records)
    run = ReportedRun(state, "running", [])
    for text in (html_page(run_page(run)), markdown_page(run_page(run))):
        assert "24 cores" in text
        assert "no answer for 10 s" in text
        assert "box2" not in text
    rows = run_json(run, [])["hosts"]
    assert [row["connected"] for row in rows] == [True, False, True]


def test_several_targets_have_a_line_of_edges_each():
    """The edges of different targets cannot be added, and the most of one says nothing."""
    state = state_of(
        (0, ev.CampaignStarted("c", SEVERAL_TARGETS)),
        *((t, ev.Stats("json", t * 9, edges=9 + t)) for t in range(1, 9)),
        *((t, ev.Stats(HOSTILE, t, edges=5 * t)) for t in range(8, 12)),
    )
    run = report_of(state)
    charts = [part for part in over_time(state, has_history=True) if isinstance(part, PageChart)]
    (edges,) = (chart for chart in charts if chart.title == "edges")
    assert [line.values[-1] for line in edges.lines] == [17, 55]
    assert edges.lines[0].name == "json"
    StrictPage(html_page(run_page(run))).check_harmless()
    assert "edges" not in run_json(run, [])["series"]
