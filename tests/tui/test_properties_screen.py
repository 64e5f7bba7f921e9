"""The Properties screen: shares and states of a suite's tests, and keys that change weights."""

import shlex

import pytest
from fakes import CAPABILITIES, started

from fuzztui.features.findings.screen.detail import finding_lines
from fuzztui.features.properties.fold import property_rows
from fuzztui.features.properties.screen.actions import PropertyContext
from fuzztui.features.properties.screen.columns import brief_name, shared_start
from fuzztui.features.properties.screen.detail import property_lines
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.afl import EXAMPLE_SEED
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import MAX_WEIGHT, WeighProperty
from fuzztui.run.home.finding import TEST_FILE
from fuzztui.tui.frame.weights import SMALLEST
from fuzztui.tui.labels.closing import closing_rows
from fuzztui.tui.labels.lineage import Lineage
from fuzztui.tui.labels.run_files import examples_command, set_file
from fuzztui.tui.labels.status import status_of

A, B, C = "tests/test_shop.py::test_price", "tests/test_shop.py::test_parse", "tests/t.py::test_no"
HOSTILE = "tests/test_x.py::test[\x1b[31m\u202e[/b]]"


def row(**figures):
    return {"trials": 100, "invalid": 0, "entries": 0, "edges": 0, "findings": 0, "cpu_ms": 0,
            "share": 0, "weight": 1.0, **figures}  # fmt: skip


def suite(*more):
    return started("shop-tests").add(
        ev.InstanceState("main", "running", 5001),
        ev.InstanceHello("main", "zest", "0.1", "3.12.1", 5001, [*CAPABILITIES, "weigh-property"]),
        ev.CampaignState("running"),
        ev.PropertiesFound("main", {A: "", B: "", HOSTILE: "", C: "there is no fixture db"}, 3),
        ev.PropertyFigures(
            "main",
            {A: row(share=300_000, edges=31, entries=7, trials=4321),
             B: row(share=650_000, findings=1, cpu_ms=9000),
             HOSTILE: row(share=50_000)},
        ),
        ev.FindingSaved("main", "crash", "crashes/id:000000"),
        ev.FindingDescribed("main", "crash", "crashes/id:000000", "Z @ shop.py:5", "ZeroDivision",
                            "shop.py:5 in parse", "", "test_parse('fuzz')", property=B),
        *more,
    )  # fmt: skip


@pytest.mark.slow
async def test_what_each_property_has(drive):
    async with drive(suite(), press="0") as d:
        assert "0 Properties" in d.lines()[1]
        keys = d.row_keys()
        assert keys == [B, A, HOSTILE, C]
        text = d.text()
        assert "test_parse" in next(line for line in text.splitlines() if "65%" in line)
        for words in ("65%", "30%", "4,321", "failed", "not run", "> Raise"):
            assert words in text, words
        assert "\x1b[31m" not in text and "\u202e" not in text
        for words in ("ZeroDivision at shop.py:5", "test_parse('fuzz')", "9s"):
            assert words in d.details(), words
        assert d.table.go_to(C)
        await d.until(lambda: "there is no fixture db" in d.details())
        await d.press("home", "backspace")
        await d.until(lambda: d.screen.TAB == "findings")


@pytest.mark.slow
async def test_the_mutants_that_each_has_killed(drive):
    name = "shop:price:math:0:+"
    found = ev.MutantsFound("main", "shop", "shop.py", "/shop.py", [{"id": name, "line": 3}])
    dead = ev.MutantState("main", name, "killed", "main/1", "exception", 40, property=A)
    async with drive(suite(found, dead), press="0") as d:
        row = next(line for line in d.lines() if "test_price" in line and "30%" in line)
        assert "killed" in d.text() and " 1 " in row
        assert d.table.go_to(A)
        await d.until(lambda: "1 mutant" in d.details())
        await d.press("4")
        await d.until(lambda: d.screen.TAB == "mutants")
        await d.until(lambda: A in d.details())
    async with drive(suite(), press="0") as d:
        assert "killed" not in d.text()


@pytest.mark.slow
async def test_weights_are_changed_by_keys(drive):
    async with drive(suite(), press=["0", "greater_than_sign", "greater_than_sign"]) as d:
        await d.until_sent(WeighProperty(B, 4.0))
        await d.press("j", "b")
        await d.until(lambda: WeighProperty(A, 0.0) in d.commands)
        assert d.table.go_to(C)
        await d.press("greater_than_sign")
        assert len(d.commands) == 2


@pytest.mark.slow
async def test_what_another_user_has_asked_is_pending(drive):
    asked = encode_command(WeighProperty(A, 3.0))
    async with drive(suite(ev.CommandIssued("c9", asked, "ann@box")), press="0") as d:
        assert "×3…" in d.text()


@pytest.mark.slow
async def test_other_campaigns_have_no_such_screen(drive):
    log = started().add(ev.InstanceState("main", "running", 5001), ev.CampaignState("running"))
    async with drive(log, press="0") as d:
        assert d.screen.TAB == "overview"
        assert "Properties" not in d.lines()[1]


def test_limits_of_the_keys():
    now = PropertyContext("a", MAX_WEIGHT)
    assert now.raising() and not now.lowering()
    assert PropertyContext("a", SMALLEST).lowering()
    off = PropertyContext("a", 0.0)
    assert off.raising() and off.lowering() and off.switched() == WeighProperty("a", 1.0)
    assert PropertyContext("a", reason="skipped").weighing() and PropertyContext().weighing()
    assert PropertyContext("a").switched() == WeighProperty("a", 0.0)


def test_a_finding_says_what_pytest_does_and_how_it_becomes_a_test(tmp_path):
    run, project = tmp_path / "run", tmp_path / "a b"
    saved, other = "crashes/id:000000", "crashes/id:000001"
    known = f"crashes/id:000002,sig:00,orig:{EXAMPLE_SEED}test_parse-1"
    log = suite(
        ev.FindingSaved("main", "crash", other),
        ev.FindingDescribed("main", "crash", other, "K @ shop.py:9", "KeyError", property=A),
        ev.FindingSaved("main", "crash", known),
        ev.FindingDescribed("main", "crash", known, "V @ shop.py:2", "ValueError", property=B),
        ev.ExampleSaved("main", saved),
        ev.ExampleSaved("main", "crashes/unknown"),
        ev.CampaignEnded("finished", "budget"),
    )
    state = log.state

    def lines_of(file):
        lines = finding_lines(state.findings[f"main/{file}"], state, Lineage(lambda: state), run)
        return {line[0].text.strip(): line[-1].text for line in lines if len(line) == 2}

    assert {"pytest"} == {"pytest", "add test"} & lines_of(saved).keys()
    assert not {"pytest", "add test"} & lines_of(other).keys()
    set_file(run, project / TEST_FILE)
    command = examples_command(run)
    assert shlex.quote(str(project)) in command
    assert lines_of(saved)["add test"] == lines_of(other)["add test"] == command
    assert "@example" in lines_of(known)["pytest"] and "add test" not in lines_of(known)
    rows = closing_rows(state, status_of(state, state.t), run)
    assert command in [row.text for row in rows if not row.screen]
    (row,) = [row for row in rows if row.name == "pytest"]
    assert row.key == f"main/{saved}"


FOLDER = "packages/core/tests"
LONG = [
    f"{FOLDER}/unit/test_game_of_turns.py::TestTurns::test_next_player_turns_tuple[8-<lambda>]",
    f"{FOLDER}/unit/test_game_of_turns.py::TestTurns::test_last_player_turns_tuple[8-<lambda>]",
    f"{FOLDER}/unit/test_game_of_turns.py::TestTurns::test_last_player_turns_tuple[9-<lambda>]",
    f"{FOLDER}/integration/test_rest.py::test_from_start_to_finish[a-b-c]",
]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (180, 40)])
async def test_long_names_differ_and_no_number_is_cut(drive, size):
    log = suite(
        ev.PropertiesFound("main", dict.fromkeys(LONG, "")),
        ev.PropertyFigures(
            "main", {n: row(edges=31_123, entries=7654, trials=86_420, weight=2.0) for n in LONG}
        ),
    )
    async with drive(log, size=size, press="0") as d:
        await d.until(lambda: d.text().count("31,123") >= len(LONG))
        rows = [line for line in d.lines() if "31,123" in line and "run" in line]
        names = {line.split(" run ")[0].strip() for line in rows}
        assert len(names) == len(LONG)
        assert "›" not in d.text()


def test_the_shared_start_of_names():
    assert shared_start(LONG) == f"{FOLDER}/"
    assert shared_start(LONG[:2]) == LONG[0].partition("TestTurns")[0]
    assert shared_start([*LONG, "shop:parse"]) == ""
    assert shared_start([f"{FOLDER}/test_a.py", f"{FOLDER}/test_ab.py"]) == f"{FOLDER}/"
    assert shared_start(["test_a.py"]) == shared_start([]) == ""


@pytest.mark.parametrize("room", [8, 24, 40, 60, 200])
def test_a_name_is_cut_to_its_room(room):
    shown = {brief_name(name, room) for name in LONG}
    assert all(len(text) <= room for text in shown)
    assert room < 24 or len(shown) == len(LONG)


def test_after_the_end_a_share_is_of_the_past():
    def of(log):
        state = log.state
        lines = property_lines(property_rows(state)[B], state)
        return {line[0].text.strip(): line[-1].text for line in lines if len(line) == 2}

    running, ended = of(suite()), of(suite(ev.CampaignEnded("stopped", "by ann")))
    assert "65%" in running["share"] and "work now" in running["share"]
    assert "65%" in ended["share"] and "now" not in ended["share"]
    assert running["state"].startswith("failed") and ended["state"] == "failed"
    assert running["state"] != "failed"  # why it still has a share


@pytest.mark.slow
async def test_states_change_with_the_end_of_the_campaign(drive):
    async with drive(suite(), press="0") as d:
        states = lambda: {row.name: row.state for row in d.screen._rows.values()}  # noqa: E731
        await d.until(lambda: states()[A] == "run")
        d.log.add(ev.CampaignEnded("stopped", "by ann"))
        await d.until(
            lambda: states() == {A: "passed", B: "failed", HOSTILE: "passed", C: "not run"}
        )
        await d.until_shows("passed")


@pytest.mark.slow
async def test_failed_properties_are_above_all_others(drive):
    log = suite()
    async with drive(log, press="0") as d:
        await d.until(lambda: d.row_keys() == [B, A, HOSTILE, C])
        log.add(
            ev.PropertyFigures("main", {HOSTILE: row(share=50_000, findings=1)}),
            ev.FindingSaved("main", "crash", "crashes/id:000001"),
            ev.FindingDescribed("main", "crash", "crashes/id:000001", "Y", "KeyError",
                                property=HOSTILE),
        )  # fmt: skip
        await d.until(lambda: d.row_keys() == [B, HOSTILE, A, C])
