"""Commands of the command line in the palette: which are offered, what they save and show."""

import asyncio

import pytest
from fakes import running
from textual.widgets import Input
from turnlog import midway

from fuzztui.features.corpus.screen.screen import CorpusScreen
from fuzztui.kernel.model.state import Entry, Finding
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.app.run_commands import COMMANDS
from fuzztui.tui.base.dialogs import AskScreen
from fuzztui.tui.base.local_command import CommandResult
from fuzztui.tui.frame.box import BoxScreen

ROW = {command.title: command.row for command in COMMANDS}
EXECUTE = {command.title for command in COMMANDS if command.executes}


@pytest.fixture
def process(monkeypatch):
    """Stands in for commands: each says one line, and ends with ``result`` when it is told to."""

    class Fake:
        made = ()
        result = CommandResult(0, "all of it\n")

        def __init__(self, arguments, *, until_eof=True):
            assert not until_eof
            Fake.made = (*Fake.made, self)
            self.line = [*arguments()]
            self.end = asyncio.Event()
            self.cancelled = False

        async def run(self, progress):
            progress("fuzztui: 3 of 9 done")
            await self.end.wait()
            return Fake.result

        def cancel(self):
            self.cancelled = True
            self.end.set()

    monkeypatch.setattr("fuzztui.tui.app.run_commands.LocalCommand", Fake)
    return Fake


def offers(d):
    return {text.partition(":")[0]: start for start, text in d.app.run_offers()}


async def test_what_is_saved_says_where(drive, process, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with drive(running()) as d:
        offers(d)["Report"]()
        await d.until(lambda: process.made and d.app.said)
        assert process.made[0].line == ["report", str(tmp_path), "--format", "html"]
        await d.until_shows(" ▶ Report: 3 of 9 done")
        process.made[0].end.set()
        await d.until_notice("fuzztui-report-")
        (file,) = tmp_path.glob("fuzztui-report-*.html")
        assert str(file) in "".join(d.notices()) and file.read_text() == "all of it\n"
        await d.until_lacks("Report: ")


async def test_a_command_that_is_chosen_again_is_cancelled(drive, process):
    async with drive(running()) as d:
        offers(d)["Score"]()
        await d.until(lambda: process.made and d.app.said)
        assert ("Score: Cancel it") in [text for _, text in d.app.run_offers()]
        offers(d)["Score"]()
        await d.until_notice("cancelled")
        assert process.made[0].cancelled and len(process.made) == 1
        assert "Score: Compute the mutation score of the corpus" in [
            text for _, text in d.app.run_offers()
        ]


async def test_a_command_that_is_begun_twice_runs_once(drive, process):
    async with drive(running()) as d:
        score = offers(d)["Score"]
        score()
        score()
        await d.until_notice("runs already")
        assert len(process.made) == 1
        process.made[0].end.set()
        await d.until(lambda: isinstance(d.app.screen, BoxScreen))
        assert not d.app.said


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (CommandResult(10, "one\n[/x]\x1b[31m\n"), "[/x]"),
        (CommandResult(0, "", "the input ends well"), "the input ends well"),
    ],
)
async def test_what_is_not_saved_is_shown(drive, process, result, shown):
    process.result = result
    async with drive(running(), press="3") as d:
        offers(d)["Reproduce"]()
        await d.until(lambda: process.made and d.app.said)
        assert process.made[0].line[:2] == ["repro", str(d.app.run_dir)]
        assert process.made[0].line[2].endswith(d.table.current.file)
        process.made[0].end.set()
        await d.until(lambda: isinstance(d.app.screen, BoxScreen))
        await d.until_shows("Reproduce", shown)
        assert "\x1b" not in d.text()


async def test_a_failure_is_a_warning(drive, process):
    process.result = CommandResult(2, "", "campaign.toml: cannot be read")
    async with drive(running()) as d:
        offers(d)["Coverage"]()
        await d.until(lambda: process.made and d.app.said)
        process.made[0].end.set()
        await d.until_notice("campaign.toml: cannot be read")


async def test_an_answer_is_more_words(drive, process):
    async with drive(running()) as d:
        offers(d)["Compare runs"]()
        await d.until(lambda: isinstance(d.app.screen, AskScreen))
        await d.press(*"runs/a", "space", *"'runs/b'", "enter")
        await d.until(lambda: process.made)
        assert process.made[0].line == ["compare", str(d.app.run_dir), "runs/a", "runs/b"]


@pytest.mark.parametrize("answer", ["'runs/a", "~nobody-here/a"])
async def test_an_answer_that_is_no_path_says_why(drive, process, answer):
    async with drive(running()) as d:
        offers(d)["Compare runs"]()
        await d.until(lambda: d.app.screen.query(Input))
        d.app.screen.query_one(Input).value = answer
        await d.press("enter")
        await d.until_notice(answer)
        assert not process.made


async def test_only_what_fits_is_offered(drive):
    async with drive(running(), press="2") as d:
        assert isinstance(d.screen, CorpusScreen)
        assert offers(d).keys() == {title for title, row in ROW.items() if row in (None, Entry)} - {
            "Kill matrix",
            "Export mutants",
        }
        await d.press("3")
        assert {"Reproduce"} == {title for title in offers(d) if ROW[title] is Finding}
    async with drive(midway()) as d:  # of programs, with afl-fuzz
        assert "Kill matrix" in offers(d)
        assert not {"Score", "Export tests", "Comparisons"} & offers(d).keys()
    async with drive(running(), run=None, control=False) as d:
        assert not offers(d)


@pytest.mark.parametrize(
    "options", [{"replay_at": 50.0}, {"control": False}], ids=["replay", "read-only"]
)
async def test_who_may_only_look_is_offered_what_reads(drive, options):
    log = running().add(ev.CampaignEnded("finished"))
    async with drive(log, press="3", **options) as d:
        assert {"Report", "Status", "Comparisons", "Compare runs"} <= offers(d).keys()
        assert not EXECUTE & offers(d).keys()


async def test_a_browser_is_offered_no_file_of_this_machine(drive, monkeypatch):
    async with drive(running(), press="3") as d:
        monkeypatch.setattr(type(d.app), "is_web", property(lambda _: True))
        assert {"Report", "Status", "Metrics"} <= offers(d).keys()
        assert not {c.title for c in COMMANDS if c.executes or c.local} & offers(d).keys()


@pytest.mark.slow
async def test_the_palette_has_them_beside_the_actions(drive, process):
    async with drive(running(), press=["ctrl+p"]) as d:
        await d.press(*"Reportpage")
        await d.until_shows("Report: Save a page about this run")
        await d.press("enter")
        await d.until(lambda: process.made)
