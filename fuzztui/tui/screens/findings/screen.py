"""The Findings screen: crashes, hangs and differences, grouped by signature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from textual.geometry import Size
from textual.worker import WorkType

from fuzztui.model.selectors import groups
from fuzztui.model.state import Changes, CommandStatus, Finding
from fuzztui.tui.base import format, shell
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.source_excerpt import SourceExcerpt, load_at
from fuzztui.tui.frame.action_context import ActionContext, row_context, without_supervisor
from fuzztui.tui.frame.command_sender import minimisings
from fuzztui.tui.frame.input_screen import InputScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels import details
from fuzztui.tui.labels.glyphs import finding_sign
from fuzztui.tui.labels.hexview import Preview, reading
from fuzztui.tui.labels.input_views import InputContent, file_lines, input_lines
from fuzztui.tui.labels.mutants import brief_place
from fuzztui.tui.labels.report import crash_frame
from fuzztui.tui.labels.run_files import minimised_place, place_of, settled
from fuzztui.tui.screens.findings.local_minimise import LocalMinimiser
from fuzztui.wire.commands import CancelMinimise, Minimise

SOURCE_LINES = 4
"""Lines of source code before and after the line of a crash."""

FEW = 10
"""Rows up to which the list is above the details, which then have the full width."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of a finding, and its minimised input; None if there is none."""

    input: InputContent
    minimised: Preview | None = None
    source: SourceExcerpt | None = None
    """The lines of source code around the crash."""


class FindingsScreen(InputScreen[Finding, Inputs]):
    """A row for each group, represented by its first file; or a row for each file."""

    TAB = "findings"
    DEFAULT_CSS = """
    FindingsScreen.-few {
        & #listing { layout: vertical; }
        & BigTable { width: 100%; }
        & DetailPane, & DetailPane:focus {
            width: 100%; height: 1fr; border-left: none; border-top: solid $rule;
        }
        & DetailPane:focus { border-top: solid $primary; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.grouped = True
        self._counts: dict[str, int] = {}
        """Number of findings by signature."""
        self._minimisings: dict[str, CommandStatus] = {}
        self._minimisers: dict[str, LocalMinimiser] = {}
        """Running minimisers of this screen, by the finding's key."""
        self._here: dict[str, CommandStatus] = {}
        """Their progress, or their results, by the finding's key."""

    def make_table(self) -> BigTable[Finding]:
        """Return the table, oldest first, so that new rows move no other row."""
        table = BigTable(self._columns(), empty="no findings yet")
        table.rows.narrow("", self._passes)
        return table

    def _columns(self) -> Sequence[Column[Finding]]:
        return (
            Column("kind", "kind", _kind, lambda f: f.category, min=7, max=9),
            Column("met", "count", self._met, self._count_of, "right", min=5, descending=True),
            Column("title", "what", self._title, details.finding_title, min=20, max=200, flex=True),
            Column("place", "where", _place, lambda f: f.place, min=8, max=34, needs=90),
            Column("t", "first", _found, lambda f: f.t, "right", min=7, max=12),
            Column("by", "by", _by, lambda f: f.instance, max=12, needs=100),
            Column("thanks", "via mutant", self._credit, None, max=16, needs=66, spare=True),
            Column("size", "size", _size, lambda f: f.size, "right", min=5, needs=100, drop=True),
        )

    def _passes(self, finding: Finding) -> bool:
        return finding.first or not self.grouped

    def _count_of(self, finding: Finding) -> int:
        return self._counts.get(finding.signature, 1) if self.grouped else finding.count

    def _met(self, finding: Finding) -> Cell:
        if not self.grouped:
            return ("first", "bold") if finding.first else ("again", "muted")
        n = self._count_of(finding)
        return f"×{format.count(n)}", "bold" if n > 1 else "muted"

    def _title(self, finding: Finding) -> Cell:
        title = details.finding_title(finding)
        command = self._minimising(finding.key)
        if command is not None and command.state == "pending":
            part = f" {format.percent(command.part, 1.0)}" if command.part >= 0 else ""
            return f"minimising{part}…  {title}", "pending"
        return title, "" if finding.title else "muted"

    def _minimising(self, key: str) -> CommandStatus | None:
        return self._here.get(key) or self._minimisings.get(key)

    def _credit(self, finding: Finding) -> Cell:
        """The mutant credited for a finding of the target."""
        mutant = self.host.lineage.mutant_behind(finding)
        return ("", "") if mutant is None else (brief_place(mutant), "killed")

    def show(self, changes: Changes) -> None:
        """Show new findings; a description may change the first file of a group."""
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
        self.refresh_row()  # a finding may have been minimised meanwhile

    def _count(self) -> None:
        """Show the number of rows; a short list is above the details."""
        super()._count()
        rows = len(self.table.rows)
        few = rows <= FEW
        self.set_class(few, "-few")
        height = max(3, min(rows + 1, self.size.height // 3)) if few else None
        old = self.table.styles.height
        if (None if old is None else old.value) != height:
            self.table.styles.height = height

    def narrow(self, text: str) -> None:
        """Filter by words; if grouped, show one row per group."""
        self.table.rows.narrow(text, self._passes)
        self.table.sync(reveal=True)
        self._count()

    def details(self, row: Finding, preview: Inputs | None, size: Size) -> Sequence[Line]:
        """Return title, location, report, other files of the group, minimised input, input."""
        command = self._minimising(row.key)
        moved = preview.input.file.moved if preview is not None else ""
        host = self.host
        smaller: Sequence[Line] = ()
        if preview is not None and preview.minimised is not None:
            smaller = file_lines(preview.minimised, size.width, "minimised input")
        return details.finding_lines(
            row, self.campaign, host.lineage, host.run_dir,
            minimising=command, moved=moved, smaller=smaller,
            source=None if preview is None else preview.source,
            content=input_lines(preview.input, size.width, self._view) if preview else (),
            width=size.width - 3,
        )  # fmt: skip

    def preview_of(self, row: Finding) -> tuple[str, Callable[[], Inputs]] | None:
        """Return the reader of the input and the minimised input; read again after minimising."""
        found = self.reading_of(row)
        if found is None:
            return None
        name, read = found
        smaller = reading(minimised_place(row, self.campaign, self.host.run_dir))
        started = self.campaign.started_wall

        def read_all() -> Inputs:
            second = None if smaller is None else smaller[1]()
            minimised = None if second is None or second.gone else second
            return Inputs(read(), minimised, _source_of(row, started))

        command = self._minimising(row.key)
        return f"{name} {command.state if command is not None else ''}", read_all

    def input_of(self, preview: Inputs) -> InputContent:
        """Return the minimised input if there is one, else the input."""
        return preview.input if preview.minimised is None else InputContent(preview.minimised)

    def describe_row(self) -> ActionContext:
        """Return the context of the finding's instance, and whether minimising is in progress."""
        finding = self.table.current
        if finding is None:
            return ActionContext()
        return replace(
            row_context(self.campaign.instances.get(finding.instance)),
            row=True,
            instance=finding.instance,
            minimising=self._is_minimising(finding),
        )

    # ------------------------------------------------------------- actions

    def do_finding_group(self) -> None:
        """Show one row per group, or one per file."""
        self.grouped = not self.grouped
        self.table.invalidate()
        text = self.query_one(FilterBar).text
        self.host.when_free(lambda: self.narrow(text))
        self.notify("One row per signature" if self.grouped else "One row per file", timeout=2)

    def do_finding_copy(self) -> None:
        """Copy the command that reproduces the finding; of a watched campaign: the file's path."""
        run = self.host.run_dir
        if run is None:
            self._copy(lambda file: shell.path(str(file)), "path: no run to reproduce in")
        else:
            self._copy(lambda file: details.repro_command(run, file), "command")

    def do_finding_copy_path(self) -> None:
        """Copy the path of the finding's file."""
        self._copy(lambda file: shell.path(str(file)), "path")

    def _copy(self, words: Callable[[Path], str], what: str) -> None:
        finding = self.table.current
        place = None if finding is None else place_of(finding, self.campaign, self.host.run_dir)
        if place is None:
            return

        async def copy() -> None:
            now = await in_thread(lambda: settled(place))
            self.host.copy(words(now.path), what)

        work: WorkType[None] = copy  # created by the worker, so that none is left unawaited
        self.run_worker(work, group="copy", exclusive=True)

    def _is_minimising(self, finding: Finding) -> bool:
        """Whether this screen or the supervisor is minimising the finding."""
        command = self._minimising(finding.key)
        pending = command is not None and command.state == "pending"
        # The log of a supervisor that was killed never contains the answer.
        heard = self.host.mode == "live" and not self.host.status.still
        return finding.key in self._minimisers or (pending and heard)

    def _cancel(self, finding: Finding) -> None:
        if finding.key in self._minimisers:
            self._minimisers[finding.key].cancel()
        else:
            command = CancelMinimise(finding.file, finding.instance)
            self.host.steer(command, f"cancel minimising {_named(finding)}")

    def do_finding_minimise(self) -> None:
        """Start or cancel minimising: by the supervisor, or by a command if there is none."""
        finding = self.table.current
        if finding is None:
            return
        if self._is_minimising(finding):
            self._cancel(finding)
        elif without_supervisor(self.host.action_context()):
            self._minimise_locally(finding)
        else:
            words = f"minimise {_named(finding)}"
            self.host.steer(Minimise(finding.file, finding.instance), words)

    def do_table_unfilter(self) -> None:
        """Cancel minimising of the finding under the cursor; otherwise as in other screens."""
        finding = self.table.current
        if finding is not None and self._is_minimising(finding):
            self._cancel(finding)
        else:
            super().do_table_unfilter()

    def _minimise_locally(self, finding: Finding) -> None:
        run, key = self.host.run_dir, finding.key
        place = place_of(finding, self.campaign, run)
        if run is None or place is None:
            return
        status = CommandStatus("", self.host.status.now, {}, instance=finding.instance)

        def tell(text: str, state: str = "pending") -> None:
            self._here[key] = replace(status, text=text, state=state)
            self.table.touch([key])
            self.refresh_row()

        minimiser = self._minimisers[key] = LocalMinimiser(run, lambda: settled(place).path)

        async def minimise() -> None:
            tell("starting…")
            try:
                done, words = await minimiser.run(tell)
            except asyncio.CancelledError:  # the user leaves the screen
                minimiser.cancel()
                raise
            finally:
                self._minimisers.pop(key, None)
            tell(words, "applied" if done else "rejected")

        work: WorkType[None] = minimise
        self.run_worker(work, group="minimise")


def _source_of(finding: Finding, started: float) -> SourceExcerpt | None:
    """The source around the crash. ``started``: Unix time of the campaign's start. Blocking."""
    frame = crash_frame(finding.detail, finding.place)
    if frame is None:
        return None
    return load_at(frame.file, frame.line, frame.code, started, SOURCE_LINES)


def _named(finding: Finding) -> str:
    """A short name of the finding; its title is often contained in the answer."""
    return f"{finding.instance}/" + finding.file.rpartition("/")[2].partition(",")[0]


def _kind(finding: Finding) -> Cell:
    return f"{finding_sign(finding.category)} {finding.category}", finding.category


def _by(finding: Finding) -> Cell:
    return finding.instance, "muted"


def _place(finding: Finding) -> Cell:
    return finding.place or format.NONE, "muted"


def _found(finding: Finding) -> Cell:
    return format.clock(finding.t), "muted"


def _size(finding: Finding) -> Cell:
    return format.size(finding.size), "muted"
