"""Crashes and hangs, by what causes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from textual.geometry import Size
from textual.worker import WorkType

from fuzztui.model.selectors import groups
from fuzztui.model.state import Changes, CommandStatus, Finding
from fuzztui.tui import detail, figures, shell
from fuzztui.tui.actions import Situation
from fuzztui.tui.background import in_thread
from fuzztui.tui.hexview import Preview, reading
from fuzztui.tui.mutants import brief_place
from fuzztui.tui.places import place_of, settled
from fuzztui.tui.screens.listing import ListingScreen
from fuzztui.tui.signs import FINDING_SIGNS
from fuzztui.tui.situation import over
from fuzztui.tui.steering import minimisings
from fuzztui.tui.widgets.canvas import Line
from fuzztui.tui.widgets.columns import Cell, Column
from fuzztui.tui.widgets.filterbar import FilterBar
from fuzztui.tui.widgets.table import BigTable
from fuzztui.wire.commands import Minimise


class FindingsScreen(ListingScreen[Finding, Preview]):
    """A row for each cause, standing for its first file; or a row for each file."""

    TAB = "findings"

    def __init__(self) -> None:
        super().__init__()
        self.grouped = True
        self._counts: dict[str, int] = {}
        """How often each cause was met, by its signature."""
        self._minimisings: dict[str, CommandStatus] = {}

    def make_table(self) -> BigTable[Finding]:
        """Oldest first: new ones come in at the end and move nothing."""
        table = BigTable(self._columns(), empty="no crash and no hang so far")
        table.rows.narrow("", self._passes)
        return table

    def _columns(self) -> Sequence[Column[Finding]]:
        return (
            Column("kind", "kind", _kind, lambda f: f.category, min=7, max=9),
            Column("met", "met", self._met, self._count_of, "right", min=5, descending=True),
            Column("title", "what", self._title, detail.finding_title, min=20, max=200, flex=True),
            Column("place", "where", _place, lambda f: f.place, min=8, max=34, needs=90),
            Column("t", "first", _found, lambda f: f.t, "right", min=7, max=12),
            Column("by", "by", _by, lambda f: f.instance, max=12, needs=60),
            Column("thanks", "thanks to", self._thanks, None, max=16, needs=66, spare=True),
            Column("size", "size", _size, lambda f: f.size, "right", min=5, needs=66, drop=True),
        )

    def _passes(self, finding: Finding) -> bool:
        return finding.first or not self.grouped

    def _count_of(self, finding: Finding) -> int:
        return self._counts.get(finding.signature, 1) if self.grouped else finding.count

    def _met(self, finding: Finding) -> Cell:
        if not self.grouped:
            return ("first", "bold") if finding.first else ("again", "muted")
        n = self._count_of(finding)
        return f"×{figures.count(n)}", "bold" if n > 1 else "muted"

    def _title(self, finding: Finding) -> Cell:
        title = detail.finding_title(finding)
        command = self._minimisings.get(finding.key)
        if command is not None and command.state == "pending":
            part = f" {figures.percent(command.part, 1.0)}" if command.part >= 0 else ""
            return f"minimising{part}…  {title}", "pending"
        return title, "" if finding.title else "muted"

    def _thanks(self, finding: Finding) -> Cell:
        """The mutant thanks to whose corpus the target fails so."""
        mutant = self.host.kin.mutant_behind(finding)
        return ("", "") if mutant is None else (brief_place(mutant), "killed")

    def show(self, changes: Changes) -> None:
        """Take in findings; a description may change which one stands for its cause."""
        state = self.campaign
        if changes.reset or changes.findings:
            self._counts = {g.signature: g.count for g in groups(state) if g.signature}
        if changes.reset:
            self.table.load(state.findings)
        elif changes.findings:
            touched = set(changes.findings)
            for key in changes.findings:
                finding = state.findings.get(key)
                if finding is not None and finding.signature:
                    touched.update(state.groups.get(finding.signature, ())[:1])
            self.table.touch(touched)
        elif not changes.commands:
            return
        if changes.reset or changes.commands:
            before, self._minimisings = self._minimisings, minimisings(state)
            self.table.touch((before.keys() | self._minimisings.keys()) & state.findings.keys())
        self._count()
        self.show_detail()
        self.host.refresh_footer()

    def narrow(self, text: str) -> None:
        """By words, and by cause when grouped."""
        self.table.rows.narrow(text, self._passes)
        self.table.sync(reveal=True)
        self._count()

    def details(self, row: Finding, preview: Preview | None, size: Size) -> Sequence[Line]:
        """Title, place, report, the other files of the cause, the crashing input."""
        command = self._minimisings.get(row.key)
        moved = preview.moved if preview is not None else ""
        host = self.host
        lines = detail.finding_lines(
            row, self.campaign, host.kin, host.run_dir, minimising=command, moved=moved
        )
        return lines + (detail.preview_lines(preview, size.width) if preview is not None else [])

    def preview_of(self, row: Finding) -> tuple[str, Callable[[], Preview]] | None:
        """The crashing input."""
        return reading(place_of(row, self.campaign, self.host.run_dir))

    def describe_row(self) -> Situation:
        """The finding's instance, and whether the finding is worked on."""
        finding = self.table.current
        if finding is None:
            return Situation()
        command = self._minimisings.get(finding.key)
        return replace(
            over(self.campaign.instances.get(finding.instance)),
            row=True,
            instance=finding.instance,
            minimising=command is not None and command.state == "pending",
        )

    # ------------------------------------------------------------- actions

    def do_finding_group(self) -> None:
        """One row a cause, or one a file."""
        self.grouped = not self.grouped
        self.table.invalidate()
        text = self.query_one(FilterBar).text
        self.host.when_free(lambda: self.narrow(text))
        self.notify("One row a cause" if self.grouped else "One row a file", timeout=2)

    def do_finding_copy(self) -> None:
        """The command line; of a watched campaign, which is no run, the file's path."""
        run = self.host.run_dir
        if run is None:
            self._copy(lambda file: shell.path(str(file)), "path: there is no run to reproduce in")
        else:
            self._copy(lambda file: detail.repro_command(run, file), "command")

    def do_finding_copy_path(self) -> None:
        """The path of the file."""
        self._copy(lambda file: shell.path(str(file)), "path")

    def _copy(self, words: Callable[[Path], str], what: str) -> None:
        finding = self.table.current
        place = None if finding is None else place_of(finding, self.campaign, self.host.run_dir)
        if place is None:
            return

        async def copy() -> None:
            now = await in_thread(lambda: settled(place))
            self.host.copy(words(now.path), what)

        work: WorkType[None] = copy  # begun only when it is not cancelled before
        self.run_worker(work, group="copy", exclusive=True)

    def do_finding_minimise(self) -> None:
        """Ask the supervisor for a smaller input."""
        finding = self.table.current
        if finding is not None:
            # Not its title: that is often what the answer says.
            name = finding.file.rpartition("/")[2].partition(",")[0]
            words = f"minimise {finding.instance}/{name}"
            self.host.steer(Minimise(finding.file, finding.instance), words)


def _kind(finding: Finding) -> Cell:
    sign = FINDING_SIGNS.get(finding.category, "")
    return f"{sign} {finding.category}".lstrip(), finding.category


def _by(finding: Finding) -> Cell:
    return finding.instance, "muted"


def _place(finding: Finding) -> Cell:
    return finding.place or figures.NONE, "muted"


def _found(finding: Finding) -> Cell:
    return figures.clock(finding.t), "muted"


def _size(finding: Finding) -> Cell:
    return figures.size(finding.size), "muted"
