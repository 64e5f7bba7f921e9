"""Minimising from the Findings screen: of ended runs without a supervisor, and what it shows."""

import asyncio
from pathlib import Path

import pytest
from fakes import running

from fuzztui.features.findings.screen.detail import finding_lines
from fuzztui.kernel.model.state import CommandStatus
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.base.local_command import CommandResult, LocalCommand
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.labels.lineage import Lineage


def ended():
    return running().add(ev.CampaignEnded("finished"))


@pytest.fixture
def minimiser(monkeypatch):
    """Stands in for the command: says one line, and ends when it is told to."""

    class Fake:
        made = ()

        def __init__(self, arguments):
            Fake.made = (*Fake.made, self)
            assert arguments()[:2] == ["minimise", "--progress"]
            self.file = Path(arguments()[-1])
            self.end = asyncio.Event()
            self.cancelled = False

        async def run(self, progress):
            progress("3 tries, 101 -> 16 bytes")
            await self.end.wait()
            return CommandResult(0, "101 -> 16 bytes\n")

        def cancel(self):
            self.cancelled = True
            self.end.set()

    monkeypatch.setattr("fuzztui.features.findings.screen.screen.LocalCommand", Fake)
    return Fake


def put(run, name, data):
    file = run / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["m", "escape"])
async def test_an_ended_run_is_minimised_and_cancelled(drive, minimiser, tmp_path, key):
    async with drive(ended(), press="3") as d:
        assert BY_ID["finding.minimise"].why_not(d.app.action_context()) == ""
        await d.press("m")
        await d.until_shows("101 -> 16 bytes")
        (made,) = minimiser.made
        assert not made.cancelled
        assert BY_ID["finding.minimise"].title(d.app.action_context()) == "Cancel"
        assert not d.commands
        finding = d.table.current
        put(tmp_path, f"minimised/{finding.instance}/{made.file.name}", b"sixteen bytes...")
        await d.press(key)
        assert made.cancelled
        await d.until_shows("sixteen bytes...")
        assert BY_ID["finding.minimise"].title(d.app.action_context()) != "Cancel"
        assert len(minimiser.made) == 1


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_smaller_input_is_in_view_before_the_old_one(drive, tmp_path, size):
    async with drive(running(), size=size) as d:
        finding = next(iter(d.app.campaign.findings.values()))
        put(tmp_path, f"out/{finding.instance}/{finding.file}", b"the old input")
        name = finding.file.rpartition("/")[2]
        put(tmp_path, f"minimised/{finding.instance}/{name}", b"new")
        await d.press("3")
        await d.until(lambda: "minimised input, 3B" in d.text() and " new" in d.text())
        pane = d.screen.details(d.table.current, d.screen._preview[1], d.screen.pane.size)
        words = ["".join(span.text for span in line) for line in pane]
        smaller = next(i for i, line in enumerate(words) if "minimised input, 3B" in line)
        whole = next(i for i, line in enumerate(words) if "input, 13B" in line)
        assert smaller < whole


@pytest.mark.slow
async def test_leaving_the_screen_stops_the_command(drive, minimiser):
    async with drive(ended(), press="3") as d:
        await d.press("m")
        await d.until(lambda: minimiser.made)
        await d.press("q")
    assert minimiser.made[0].cancelled


def command(run, name):
    return LocalCommand(lambda: ["minimise", "--progress", str(run), str(run / name)])


@pytest.mark.slow
async def test_a_command_that_fails_says_why(tmp_path):
    result = await command(tmp_path, "gone").run(lambda _: None)
    assert result.status
    assert str(tmp_path) in result.message
    assert "Traceback" not in result.message


@pytest.mark.parametrize("name", ["half\ud800", "nul\0"])
async def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    result = await command(tmp_path, name).run(lambda _: None)
    assert result.status
    assert result.message.isprintable()


@pytest.mark.slow
async def test_a_cancel_before_the_start_is_not_lost(tmp_path):
    minimiser = command(tmp_path, "gone")
    minimiser.cancel()
    assert (await minimiser.run(lambda _: None)).status


@pytest.mark.parametrize("state", ["pending", "applied", "rejected"])
def test_progress_and_result_are_above_the_input(state):
    campaign = running().state
    finding = next(iter(campaign.findings.values()))
    command = CommandStatus("c1", 1.0, {}, state=state, text="101 -> 16 bytes")
    content = [[], [TextSpan("the input")]]
    lines = finding_lines(
        finding, campaign, Lineage(lambda: campaign), None, minimising=command, content=content
    )
    shown = ["".join(span.text for span in line) for line in lines]
    at = next(n for n, line in enumerate(shown) if "101 -> 16 bytes" in line)
    assert at < shown.index("the input")
