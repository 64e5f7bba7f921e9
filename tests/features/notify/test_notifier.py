"""Which news ``notify.command`` gets, and when; with a real command."""

import asyncio
import json
from pathlib import Path

import pytest
from waiting import until

from fuzztui.features.notify import notifier as notifier_module
from fuzztui.features.notify.notifier import AGAIN_S, HOUR_S, Notifier
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.new_groups import MAX_WAIT_S
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import (
    CampaignStarted,
    CampaignState,
    Event,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Notified,
    Record,
    SupervisorStarted,
    VerdictsChanged,
)

SCRIPT = """#!/bin/sh
printf '%s\\n' "$FUZZTUI_NEWS" >> lines
cat >> objects
exit $(cat status)
"""


class Campaign:
    """A campaign's log in memory, its notifier, and what the command got."""

    def __init__(self, run: Path, **settings: object) -> None:
        self.run = run
        (run / "supervisor").mkdir(parents=True)
        script = run / "hook"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        (run / "status").write_text("0")
        usual = {"on": ["findings", "stall", "end"], "stall": 100.0, "max_per_hour": 20}
        self.settings = {**usual, "command": [str(script)], **settings}
        self.state = State()
        self.t = self.monotonic = 0.0
        self.add(CampaignStarted("c", "zest"), InstanceState("main", "running"))
        self.add(CampaignState("running"))
        self.begin()

    def begin(self) -> None:
        """Start a notifier, as a new supervisor does."""
        self.notifier = Notifier(
            self.settings, self.run, self.state, self.add, lambda: self.t,
            monotonic=lambda: self.monotonic,
        )  # fmt: skip

    def add(self, *events: Event) -> None:
        for event in events:
            apply(self.state, [Record(self.state.seq + 1, self.t, event)])

    def finding(self, name: str, signature: str = "", instance: str = "main") -> None:
        self.add(FindingSaved(instance, "crash", f"crashes/{name}"))
        if signature:
            self.describe(name, signature, instance)

    def describe(self, name: str, signature: str, instance: str = "main") -> None:
        title = f"title of {signature}"
        self.add(FindingDescribed(instance, "crash", f"crashes/{name}", signature, title))

    async def reports(self) -> list[dict]:
        """Let the notifier work until nothing is due; returns the objects that the command got."""
        task = asyncio.ensure_future(self.notifier.run())
        one = self.notifier
        await until(lambda: not one._one.locked() and not (one._due() and one._may_run()))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return self.objects()

    def objects(self) -> list[dict]:
        file = self.run / "objects"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def notified(self) -> list[Notified]:
        return [r.event for r in self.state.recent if isinstance(r.event, Notified)]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path)


async def test_each_group_is_reported_once(campaign, tmp_path):
    campaign.finding("1", "A")
    first = await campaign.reports()
    assert [one["new"][0]["signature"] for one in first] == ["A"]
    assert first[0]["count"] == 1 and first[0]["groups"]["crash"] == 1
    campaign.finding("2", "A")
    campaign.finding("3", "B")
    again = await campaign.reports()
    assert [one["new"][0]["signature"] for one in again] == ["A", "B"]
    assert len((tmp_path / "lines").read_text().splitlines()) == 2


async def test_a_finding_waits_for_its_description(campaign):
    campaign.finding("1", "A")
    await campaign.reports()
    campaign.finding("2")
    assert len(await campaign.reports()) == 1
    campaign.describe("2", "A")
    assert len(await campaign.reports()) == 1
    campaign.finding("3")
    campaign.t += MAX_WAIT_S
    assert [one["count"] for one in await campaign.reports()] == [1, 1]
    campaign.describe("3", "C")  # a group of which a finding was reported is not new
    assert len(await campaign.reports()) == 2


async def test_findings_of_mutants_are_not_reported(campaign):
    campaign.add(InstanceHello("m1", "zest", mutant="x"))
    campaign.finding("1", "A", "m1")
    assert await campaign.reports() == []
    campaign.finding("2", "A")
    assert [one["new"][0]["finding"] for one in await campaign.reports()] == ["main/crashes/2"]


async def test_a_new_supervisor_reports_what_the_last_one_did_not(campaign):
    campaign.finding("1", "A")
    await campaign.reports()
    campaign.finding("2", "B")
    campaign.begin()
    assert [one["new"][0]["signature"] for one in await campaign.reports()] == ["A", "B"]


async def test_above_the_limit_groups_are_reported_together(tmp_path):
    campaign = Campaign(tmp_path, max_per_hour=2)
    for name in "ABCD":
        campaign.finding(name, name)
        await campaign.reports()
    assert [one["count"] for one in campaign.objects()] == [1, 1]
    campaign.monotonic += HOUR_S
    assert [one["count"] for one in await campaign.reports()] == [1, 1, 2]


async def test_after_a_failure_the_news_is_reported_again(campaign, tmp_path):
    (tmp_path / "status").write_text("3")
    campaign.finding("1", "A")
    await campaign.reports()
    assert ["exit status 3" in one.problem for one in campaign.notified()] == [True]
    (tmp_path / "status").write_text("0")
    assert len(await campaign.reports()) == 1  # not at once
    campaign.monotonic += AGAIN_S
    assert len(await campaign.reports()) == 2
    assert [bool(one.problem) for one in campaign.notified()] == [True, False]


@pytest.mark.parametrize("command", [["/nowhere/at/all"], ["/"]])
async def test_a_command_that_cannot_be_run_is_reported(tmp_path, command):
    campaign = Campaign(tmp_path, command=command)
    campaign.finding("1", "A")
    await campaign.reports()
    assert [bool(one.problem) for one in campaign.notified()] == [True]


async def test_a_stall_is_reported_once_until_something_new_is_found(campaign):
    for t, reports in ((99.0, 0), (101.0, 1), (5000.0, 1)):
        campaign.t = t
        assert len(await campaign.reports()) == reports
    campaign.finding("1", "A")
    campaign.t += 99
    assert [one["news"] for one in await campaign.reports()] == ["stall", "findings"]
    campaign.t += 2
    assert [one["news"] for one in await campaign.reports()] == ["stall", "findings", "stall"]
    assert campaign.objects()[-1]["advice"]


async def test_a_pause_is_no_stall(campaign):
    campaign.t = 50.0
    campaign.add(CampaignState("paused"))
    campaign.t = 1000.0
    assert await campaign.reports() == []
    campaign.add(CampaignState("running"))
    campaign.t += 99
    assert await campaign.reports() == []
    campaign.t += 2
    assert len(await campaign.reports()) == 1


async def test_the_end_reports_what_waits_and_the_end(tmp_path):
    campaign = Campaign(tmp_path, max_per_hour=1)
    campaign.finding("1", "A")
    await campaign.reports()
    campaign.finding("2")
    await campaign.notifier.ended("finished", "the budget is used up")
    assert [one["news"] for one in campaign.objects()] == ["findings", "findings", "end"]
    assert campaign.objects()[-1]["reason"] == "the budget is used up"
    assert campaign.objects()[-1]["unmeasured"] is None


async def test_the_end_of_a_campaign_that_measured_nothing_says_so(campaign):
    await campaign.notifier.ended("finished", "the budget is used up")
    [one] = campaign.objects()
    assert one["unmeasured"] and one["unmeasured"] in one["text"]


async def test_only_what_is_asked_for_is_reported(tmp_path):
    campaign = Campaign(tmp_path, on=["end"])
    campaign.finding("1", "A")
    campaign.t = 1000.0
    await campaign.reports()
    await campaign.notifier.ended("stopped", "")
    assert [one["news"] for one in campaign.objects()] == ["end"]


async def test_a_command_that_hangs_does_not_hold_up_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(notifier_module, "LAST_S", 0.2)
    campaign = Campaign(tmp_path, command=["sleep", "1000"])
    await campaign.notifier.ended("stopped", "")
    assert campaign.notified() == []
    assert campaign.state.recent[-1].event.level == "warning"


async def test_text_of_the_target_is_harmless(campaign, tmp_path):
    campaign.finding("1", "A\x1b]0;x\x07\n" + "Z" * 10_000)
    [one] = await campaign.reports()
    assert one["text"].isprintable() and len(one["text"]) <= 200
    assert (tmp_path / "lines").read_text() == one["text"] + "\n"


async def test_judged_groups_are_not_reported_but_regressions_are(campaign):
    verdicts = [{"signature": s, "verdict": v} for s, v in (("A", "known"), ("B", "fixed"))]
    campaign.add(VerdictsChanged(verdicts), SupervisorStarted(1, 0.0))
    campaign.finding("1", "A")
    assert await campaign.reports() == []
    campaign.finding("2", "B")
    campaign.finding("3", "C")
    new = [row for one in await campaign.reports() for row in one["new"]]
    assert [(row["signature"], row["regression"]) for row in new] == [("B", True), ("C", False)]
