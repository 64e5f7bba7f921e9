"""The dialog for verdicts on the Findings screen, and what the screen shows of a verdict."""

import asyncio

import pytest
from fakes import running
from textual.widgets import Input

from fuzztui.features.findings.screen.dialogs import VerdictChoices, VerdictScreen
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import JudgeFinding
from fuzztui.tui.frame.actions import BY_ID


def verdict(signature, name, note="issue 12"):
    row = {"signature": signature, "verdict": name, "note": note, "author": "ada", "date": "2026"}
    return ev.VerdictsChanged([row])


async def on_a_crash(d):
    """Open the screen with the cursor on a group that has a signature."""
    await d.press("3")
    while not (d.table.current and d.table.current.signature):
        await d.press("down")
    return d.table.current


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (220, 60)])
async def test_the_dialog_sends_verdict_and_note(drive, size):
    async with drive(running(), size=size) as d:
        finding = await on_a_crash(d)
        await d.press("V")
        assert isinstance(d.app.screen, VerdictScreen)
        assert d.app.screen.query_one(VerdictChoices).chosen == "known"
        assert d.app.screen.query_one(Input).region.height == 1
        await d.press("down", "i", "1", "2", "enter")
        assert d.commands == [JudgeFinding(finding.file, "fixed", "i12", finding.instance)]


@pytest.mark.slow
async def test_escape_sends_nothing_and_letters_are_no_commands(drive):
    async with drive(running()) as d:
        await on_a_crash(d)
        await d.press("V", "q", "m", "up", "up", "escape")
        assert not isinstance(d.app.screen, VerdictScreen)
        assert not d.commands


async def test_an_earlier_verdict_is_in_the_dialog_and_in_the_details(drive):
    async with drive(running(), size=(120, 40)) as d:
        finding = await on_a_crash(d)
        d.log.add(verdict(finding.signature, "wont-fix", "\x1b[31mby design"))
        await d.until_shows("by design")
        assert "\x1b" not in d.text()
        await d.press("V")
        assert d.app.screen.query_one(VerdictChoices).chosen == "wont-fix"
        assert d.app.screen.query_one(Input).value == "\x1b[31mby design"


@pytest.mark.slow
async def test_an_ended_run_is_judged_by_a_process(drive, recorded, tmp_path):
    async with drive(running().add(ev.CampaignEnded("finished"))) as d:
        finding = await on_a_crash(d)
        assert BY_ID["finding.judge"].why_not(d.app.action_context()) == ""
        await d.press("V", "enter")
        await d.until(lambda: recorded)
        assert recorded == [(tmp_path, JudgeFinding(finding.file, "known", "", finding.instance))]
        assert not d.commands


@pytest.mark.slow
async def test_a_verdict_that_is_not_recorded_keeps_the_dialog_and_its_note(drive):
    async with drive(running()) as d:
        finding = await on_a_crash(d)
        d.world.supervisor.refuse = "verdicts.toml: the disk is full"
        await d.press("V", "up", *"why", "enter")
        await d.until_shows("the disk is full")
        dialog = d.app.screen
        assert isinstance(dialog, VerdictScreen)
        assert dialog.query_one(Input).value == "why"
        assert d.app.focused is dialog.query_one(Input)
        await d.press("escape", "V")
        assert d.app.screen.query_one(Input).value == "why"
        verdict_ = d.app.screen.query_one(VerdictChoices).chosen
        d.world.supervisor.refuse = ""
        await d.press("enter")
        await d.until(lambda: not isinstance(d.app.screen, VerdictScreen))
        sent = JudgeFinding(finding.file, verdict_, "why", finding.instance)
        assert d.commands == [sent, sent]


@pytest.mark.slow
async def test_a_failure_after_the_dialog_was_closed_is_notified(drive, monkeypatch):
    answer = asyncio.get_running_loop().create_future()

    async def record(run, command):
        return await answer

    monkeypatch.setattr("fuzztui.features.findings.screen.screen.record_verdict", record)
    async with drive(running().add(ev.CampaignEnded("finished"))) as d:
        await on_a_crash(d)
        await d.press("V", "x", "enter")
        assert isinstance(d.app.screen, VerdictScreen)
        await d.press("down", "enter")  # once only
        await d.press("escape")
        assert not isinstance(d.app.screen, VerdictScreen)
        answer.set_result((False, "cannot be written"))
        await d.until(lambda: any("cannot be written" in n.message for n in d.app._notifications))
        await d.press("V")
        assert d.app.screen.query_one(Input).value == "x"


@pytest.mark.slow
async def test_marked_groups_get_one_verdict_in_one_step(drive):
    async with drive(running(), size=(120, 40)) as d:
        await on_a_crash(d)
        await d.press("space", "space")
        marked = d.table.marked_rows()
        assert len(marked) == 2
        await d.press("V", "enter")
        await d.until(lambda: len(d.commands) == 2)
        assert {(c.instance, c.file) for c in d.commands} == {(f.instance, f.file) for f in marked}
        assert not d.table.marks


@pytest.mark.slow
async def test_a_regression_is_not_fixed_again_by_mistake(drive):
    async with drive(running()) as d:
        finding = await on_a_crash(d)
        d.log.add(verdict(finding.signature, "fixed"))
        d.log.add(ev.SupervisorStarted(1, 0.0))
        d.log.add(ev.FindingDescribed("main", "crash", "crashes/x", finding.signature, "title"))
        await d.until_shows("regression")
        await d.press("V")
        assert d.app.screen.query_one(VerdictChoices).chosen == "known"


@pytest.mark.slow
async def test_notifications_do_not_cover_a_dialog(drive):
    async with drive(running(), size=(40, 12), toasts=True) as d:
        await on_a_crash(d)
        await d.press("V")
        await d.still()
        before = d.text()
        d.app.notify("first line\nsecond line\nthird line", title="title", timeout=60)
        await d.still()
        assert d.text() == before
        await d.press("escape")
        await d.until_shows("title")
