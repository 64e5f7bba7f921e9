"""The Properties screen: shares and states of a suite's tests, and keys that change weights."""

import pytest
from fakes import CAPABILITIES, started

from fuzztui.tui.frame.property_actions import SMALLEST, PropertyContext
from fuzztui.wire import events as ev
from fuzztui.wire.codec import encode_command
from fuzztui.wire.commands import MAX_WEIGHT, WeighProperty

A, B, C = "tests/test_shop.py::test_price", "tests/test_shop.py::test_parse", "tests/t.py::test_no"
HOSTILE = "tests/test_x.py::test[\x1b[31m\u202e[/b]]"


def row(**figures):
    return {"trials": 100, "invalid": 0, "entries": 0, "edges": 0, "findings": 0, "cpu_ms": 0,
            "share": 0, "weight": 1.0, **figures}  # fmt: skip


def suite(*more):
    log = started("shop-tests")
    log.add(
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
    return log


def details(d):
    return "\n".join("".join(span.text for span in line) for line in d.screen.pane.lines)


@pytest.mark.slow
async def test_what_each_property_has(drive):
    async with drive(suite()) as d:
        await d.press("0")
        assert "0 Properties" in d.lines()[1]
        keys = [d.table.source.key(i) for i in range(len(d.table.source))]
        assert keys == [B, A, HOSTILE, C]
        text = d.text()
        assert "test_parse" in next(line for line in text.splitlines() if "65%" in line)
        for words in ("65%", "30%", "4,321", "failed", "not run", "> Raise"):
            assert words in text, words
        assert "\x1b[31m" not in text and "\u202e" not in text
        for words in ("ZeroDivision at shop.py:5", "test_parse('fuzz')", "9s"):
            assert words in details(d), words
        assert d.table.go_to(C)
        await d.until(lambda: "there is no fixture db" in details(d))
        await d.press("home", "backspace")
        await d.until(lambda: d.screen.TAB == "findings")


@pytest.mark.slow
async def test_the_mutants_that_each_has_killed(drive):
    name = "shop:price:math:0:+"
    found = ev.MutantsFound("main", "shop", "shop.py", "/shop.py", [{"id": name, "line": 3}])
    dead = ev.MutantState("main", name, "killed", "main/1", "exception", 40, property=A)
    async with drive(suite(found, dead)) as d:
        await d.press("0")
        row = next(line for line in d.lines() if "test_price" in line and "30%" in line)
        assert "killed" in d.text() and " 1 " in row
        assert d.table.go_to(A)
        await d.until(lambda: "1 mutant" in details(d))
        await d.press("4")
        await d.until(lambda: d.screen.TAB == "mutants")
        await d.until(lambda: A in details(d))
    async with drive(suite()) as d:
        await d.press("0")
        assert "killed" not in d.text()


@pytest.mark.slow
async def test_weights_are_changed_by_keys(drive):
    async with drive(suite()) as d:
        await d.press("0", "greater_than_sign", "greater_than_sign")
        await d.until(lambda: d.world.supervisor.commands == [WeighProperty(B, 4.0)])
        await d.press("j", "b")
        await d.until(lambda: WeighProperty(A, 0.0) in d.world.supervisor.commands)
        assert d.table.go_to(C)
        await d.press("greater_than_sign")
        assert len(d.world.supervisor.commands) == 2


@pytest.mark.slow
async def test_what_another_user_has_asked_is_pending(drive):
    asked = encode_command(WeighProperty(A, 3.0))
    async with drive(suite(ev.CommandIssued("c9", asked, "ann@box"))) as d:
        await d.press("0")
        assert "×3…" in d.text()


@pytest.mark.slow
async def test_other_campaigns_have_no_such_screen(drive):
    log = started()
    log.add(ev.InstanceState("main", "running", 5001), ev.CampaignState("running"))
    async with drive(log) as d:
        await d.press("0")
        assert d.screen.TAB == "overview"
        assert "Properties" not in d.lines()[1]


def test_limits_of_the_keys():
    now = PropertyContext("a", "", MAX_WEIGHT)
    assert now.raising() and not now.lowering()
    assert PropertyContext("a", "", SMALLEST).lowering()
    off = PropertyContext("a", "", 0.0)
    assert off.raising() and off.lowering() and off.switched() == WeighProperty("a", 1.0)
    assert PropertyContext("a", "skipped").weighing() and PropertyContext().weighing()
    assert PropertyContext("a").switched() == WeighProperty("a", 0.0)
