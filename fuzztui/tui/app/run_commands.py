"""The commands of the command line that fit the open run, for the command palette."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fuzztui.kernel.model.state import Entry, Finding
from fuzztui.tui.app.action_app import ActionApp
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.base.dialogs import AskScreen
from fuzztui.tui.base.local_command import MESSAGE_PREFIX, CommandResult, LocalCommand
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.frame.controls import CampaignControls
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.labels.run_files import place_of, settled
from fuzztui.tui.labels.status import AFL

WELL = (0, 10, 11)
"""Exit statuses of a command that did what it should: done, the target fails, a gate is closed."""

MAX_LINES = 5_000
"""Lines of a command's output that are shown."""


@dataclass(frozen=True, slots=True)
class RunCommand:
    """One command. ``words``: name and arguments, with RUN, FILE and ID where these belong.

    FILE and ID are those of the entry or finding under the cursor.
    """

    title: str
    help: str
    words: tuple[str, ...]
    suffix: str = ""
    """The ending of the file in which the output is saved; an empty string: it is shown."""
    ask: str = ""
    """The question to the user, whose answer is more words; an empty string: there is none."""
    executes: bool = False
    """Whether the command executes the target, or adds to the run: the others only read."""
    local: bool = False
    """Whether the answer names files of this machine, which a browser must not."""
    row: type[Entry | Finding] | None = None
    """What must be under the cursor; None: the command is about the whole run."""
    fits: Callable[[ActionContext], object] = lambda _: True
    """Whether the command makes sense for the campaign."""

    def offered(self, now: ActionContext, row: object) -> bool:
        """Whether the palette has the command, for the ``row`` under the cursor."""
        only_reads = now.mode == "replay" or now.read_only or now.remote or now.browser
        if not now.has_run or (self.executes and (only_reads or not now.control)):
            return False
        if (self.local and now.browser) or (self.row and not isinstance(row, self.row)):
            return False
        return bool(self.fits(now))


def _python(now: ActionContext) -> bool:
    return now.engine != AFL


def _mutants(now: ActionContext) -> bool:
    return "mutants" not in now.absent


COMMANDS = (
    RunCommand("Report", "Save a page about this run for others to read (HTML)",
        ("report", "RUN", "--format", "html"), ".html"),
    RunCommand("Status", "Save all figures of this run (JSON)", ("status", "RUN", "--json"),
        ".json"),
    RunCommand("Metrics", "Save the figures for Prometheus", ("metrics", "RUN"), ".prom"),
    RunCommand("Compare runs", "Compare this run with others, at one time",
        ("compare", "RUN"), ask="Directories of other runs of this target:", local=True),
    RunCommand("Comparisons", "Show what the target's comparisons have brought",
        ("comparisons", "RUN"), fits=_python),
    RunCommand("Kill matrix", "Save which inputs kill which mutants (CSV)",
        ("mutants", "matrix", "RUN", "--csv"), ".csv", fits=lambda now: now.stage),
    RunCommand("Export mutants", "Save a report for Stryker's viewers (JSON)",
        ("mutants", "export", "RUN"), ".json", fits=_mutants),
    RunCommand("Export corpus", "Write the inputs as libFuzzer keeps them",
        ("corpus", "export", "RUN"), ask="Directory for the inputs:", local=True),
    RunCommand("Export tests", "Write tests from the corpus and the findings",
        ("export", "RUN", "--pytest"), ask="File for the tests: test_NAME.py", executes=True,
        local=True, fits=_python),
    RunCommand("Coverage", "Save the lines that the inputs execute (LCOV)",
        ("coverage", "RUN", "--format", "lcov"), ".info", executes=True),
    RunCommand("Score", "Compute the mutation score of the corpus", ("score", "RUN"),
        executes=True, fits=_python),
    RunCommand("Minimise corpus", "Write the fewest entries that keep edges and kills",
        ("corpus", "minimise", "RUN", "-o"), ask="Directory for the entries:", executes=True,
        local=True),
    RunCommand("Sync", "Exchange entries with other runs through a directory, once",
        ("sync", "RUN"), ask="Directory that the runs share:", executes=True, local=True),
    RunCommand("Reproduce", "Run the target on the finding under the cursor",
        ("repro", "RUN", "FILE"), executes=True, row=Finding),
    RunCommand("Run entry", "Run the target on the entry under the cursor",
        ("repro", "RUN", "FILE"), executes=True, row=Entry),
    RunCommand("Why kept", "Show why the entry is kept, and what only it covers",
        ("corpus", "why", "RUN", "ID"), executes=True, row=Entry),
)  # fmt: skip


class RunCommands(ActionApp, CampaignControls):
    """Runs :data:`COMMANDS`, each in a process of its own; the banner shows how far they are."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._processes: dict[str, LocalCommand] = {}
        self.said: dict[str, str] = {}
        """By title of each running command: the title, and what the command has said last."""

    def run_offers(self) -> Iterator[tuple[Callable[[], None], str]]:
        """Yield what the palette has: what starts or cancels a command, and its text."""
        now, screen = self.action_context(), self.bottom_screen
        row = screen.table.current if isinstance(screen, ListingScreen) else None
        for command in COMMANDS:
            if running := self._processes.get(command.title):
                yield running.cancel, f"{command.title}: Cancel it"
            elif command.offered(now, row):
                yield partial(self._begin, command, row), f"{command.title}: {command.help}"

    def _begin(self, command: RunCommand, row: object) -> None:
        run, place, key = self.run_dir, None, ""
        if isinstance(row, Entry | Finding):
            place, key = place_of(row, self.campaign, run), row.key

        def line(more: Sequence[str]) -> Sequence[str]:  # may block
            words = {"RUN": str(run), "ID": key, "FILE": str(settled(place).path) if place else key}
            return [*(words.get(word, word) for word in command.words), *more]

        def answered(answer: str | None) -> None:
            try:
                more = [str(Path(word).expanduser()) for word in shlex.split(answer or "")]
            except (ValueError, RuntimeError) as e:  # an open quote; no such home
                self.notify(plain(f"{answer}: {e}"), title=command.title, severity="warning")
                return
            if more or not command.ask:
                self.run_worker(self._run(command, partial(line, more)), group="command")

        if command.ask:
            self.push_screen(AskScreen(command.title, command.ask, "…", 4096), answered)
        else:
            answered("")

    async def _run(self, command: RunCommand, line: Callable[[], Sequence[str]]) -> None:
        title = command.title
        if title in self._processes:  # begun a second time before it was running
            self.notify("runs already", title=title, severity="warning")
            return
        process = self._processes[title] = LocalCommand(line, until_eof=False)

        def say(text: str) -> None:
            self.said[title] = f"{title}: {text.removeprefix(MESSAGE_PREFIX)}"
            if self.is_running:
                host(self).draw_frame()

        say("running; choose it again to cancel it")
        try:
            result = await process.run(say)
        finally:
            self._processes.pop(title, None)
            self.said.pop(title, None)
        host(self).draw_frame()
        if process.cancelled:
            self.notify("cancelled", title=title)
        elif result.status not in WELL:
            why = result.message or result.output or f"ended with exit status {result.status}"
            self.notify(plain(why), title=title, severity="warning", timeout=12)
        elif command.suffix:
            await self.save_file(title.lower(), command.suffix, result.output.encode)
        else:
            self._show(title, result)

    def _show(self, title: str, result: CommandResult) -> None:
        text = result.output.strip() or result.message
        lines = [[TextSpan(plain(line))] for line in text.splitlines()[:MAX_LINES]]
        screen = self.bottom_screen
        if isinstance(screen, ListingScreen) and not screen.may_take_focus:  # the user types
            self.notify(plain(text.rpartition("\n")[2]), title=title, timeout=12)
        else:
            self.push_screen(BoxScreen(title, lambda: lines))
