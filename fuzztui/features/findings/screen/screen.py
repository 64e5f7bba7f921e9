"""The Findings screen: crashes, hangs and differences, grouped by signature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from textual.geometry import Size
from textual.notifications import SeverityLevel
from textual.worker import WorkType

from fuzztui.features.findings.screen.actions import FindingContext
from fuzztui.features.findings.screen.detail import (
    SEVERITY_STYLES,
    VERDICT_STYLES,
    finding_lines,
    no_findings_lines,
)
from fuzztui.features.findings.screen.dialogs import FramesScreen, VerdictScreen
from fuzztui.features.inputs.screen.hexview import Preview, reading
from fuzztui.features.inputs.screen.input_screen import InputScreen
from fuzztui.features.inputs.screen.input_views import InputContent, file_lines, input_lines
from fuzztui.features.source.index import location
from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.model.finding_tallies import groups
from fuzztui.kernel.model.groups import regrouping
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Changes, CommandStatus, Finding
from fuzztui.kernel.model.verdicts import given_about, verdict_of
from fuzztui.kernel.wire.commands import (
    CancelMinimise,
    CountFrames,
    JudgeFinding,
    Minimise,
    OfVerdictsFile,
    SkipFrames,
)
from fuzztui.kernel.wire.severity import ERROR, rank, short
from fuzztui.kernel.wire.verdicts import KNOWN, NEW, OPEN, REGRESSION, label
from fuzztui.tui.base import format, shell
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.local_command import LocalCommand
from fuzztui.tui.base.source_excerpt import SourceExcerpt, load_at
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.action_context import ActionContext, without_supervisor
from fuzztui.tui.frame.command_sender import Answered, CommandOutcome, minimisings
from fuzztui.tui.frame.local_verdict import record_verdict
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.details import finding_title, repro_command
from fuzztui.tui.labels.legend import Legend
from fuzztui.tui.labels.mutants import brief_place
from fuzztui.tui.labels.report import crash_frame
from fuzztui.tui.labels.run_files import minimised_place, path_there, place_of, settled
from fuzztui.tui.labels.states import finding_sign

MAX_NAMED = 3
"""Groups that the dialog for a verdict names."""

SOURCE_LINES = 4
"""Lines of source code before and after the line of a crash."""

LEAST_TITLE = 12
"""Cells of a title before its distinction from another group's; with less, its end is cut."""

FEW = 10
"""Rows up to which the list is above the details, which then have the full width."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the details of a finding show: its input, the minimised input, the source lines."""

    input: InputContent
    minimised: Preview | None = None
    source: SourceExcerpt | None = None
    """The lines of source code around the crash."""


class FindingsScreen(InputScreen[Finding, Inputs]):
    """A row for each group, represented by its first file; or a row for each file."""

    TAB = "findings"
    SCOPES = ("listing", "marking")
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
        self._severest: dict[str, Finding] = {}
        """By signature: the finding whose severity is that of the group."""
        self._only_errors = True
        """Whether no finding has one of casr's levels, so that the column says nothing."""
        self._minimisings: dict[str, CommandStatus] = {}
        self._minimisers: dict[str, LocalCommand] = {}
        """The commands of this screen that are running, by the finding's key."""
        self._unrecorded: dict[str, tuple[str, str]] = {}
        """Verdicts and notes that were not recorded, by signature: the dialog offers them again."""
        self._minimise_turn = asyncio.Lock()
        self._here: dict[str, CommandStatus] = {}
        """Their progress, or their results, by the finding's key."""

    def make_table(self) -> BigTable[Finding]:
        """Return the table, oldest first, so that new rows move no other row."""
        table = BigTable(self._columns(), empty="no findings yet")
        table.rows.narrow("", self._passes)
        return table

    def _columns(self) -> Sequence[Column[Finding]]:
        return (
            Column("kind", "kind", _kind, lambda f: f.category, min=7, max=9,
                   value=lambda f: f.category),
            Column("severity", "severity", self._severity, lambda f: rank(self._worst(f).severity),
                   max=11, spare=True, descending=True,
                   value=lambda f: self._worst(f).severity),
            Column("verdict", "verdict", self._verdict, self._verdict_of, max=10, spare=True),
            Column("met", "count", self._met, self._count_of, "right", min=5, descending=True),
            Column("title", "what", self._title, finding_title, min=20, max=200, flex=True,
                   cut=cut_title),
            Column("place", "where", lambda f: (f.place or format.NONE, "muted"),
                   lambda f: f.place, min=8, max=60, needs=90, yields=16),
            Column("t", "first", lambda f: (format.clock(f.t), "muted"), lambda f: f.t, "right",
                   min=7, max=12),
            Column("by", "by", lambda f: (f.instance, "muted"), lambda f: f.instance, max=12,
                   needs=100, varies=True),
            Column("host", "host", self._on, None, max=20, needs=110, drop=True, spare=True),
            Column("thanks", "via mutant", self._credit, lambda f: self._credit(f)[0], max=16,
                   needs=66, spare=True),
            Column("size", "size", lambda f: (format.size(f.size), "muted"), lambda f: f.size,
                   "right", min=5, needs=100, drop=True),
        )  # fmt: skip

    def _on(self, finding: Finding) -> Cell:
        """The hosts on which the group was found; if files are shown, the file's host."""
        state = self.campaign
        if not state.hosts:
            return "", ""
        keys = state.groups.get(finding.signature, ()) if self.grouped and finding.signature else ()
        names = {finding.instance, *(key.partition("/")[0] for key in keys)}
        found = (state.instances.get(name) for name in names)
        return " ".join(sorted({i.host for i in found if i is not None and i.host})), "muted"

    def _passes(self, finding: Finding) -> bool:
        return finding.first or not self.grouped

    def _count_of(self, finding: Finding) -> int:
        return self._counts.get(finding.signature, 1) if self.grouped else finding.count

    def _met(self, finding: Finding) -> Cell:
        if not self.grouped:
            return ("first", "bold") if finding.first else ("again", "muted")
        n = self._count_of(finding)
        return f"×{format.count(n)}", "bold" if n > 1 else "muted"

    def _worst(self, finding: Finding) -> Finding:
        return self._severest.get(finding.signature, finding) if self.grouped else finding

    def _severity(self, finding: Finding) -> Cell:
        level = self._worst(finding).severity
        return ("" if self._only_errors else short(level)), SEVERITY_STYLES.get(level, "muted")

    def _title(self, finding: Finding) -> Cell:
        title = finding_title(finding)
        command = self._minimising(finding.key)
        if command is not None and command.state == "pending":
            part = f" {format.percent(command.part, 1.0)}" if command.part >= 0 else ""
            return f"minimising{part}…  {title}", "pending"
        judged = self._verdict_of(finding) not in OPEN
        return title, "muted" if judged or not finding.title else ""

    def _verdict_of(self, finding: Finding) -> str:
        return verdict_of(self.campaign, finding.signature)

    def _verdict(self, finding: Finding) -> Cell:
        verdict = self._verdict_of(finding)
        return ("" if verdict == NEW else label(verdict)), VERDICT_STYLES.get(verdict, "")

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
            every = [group for group in groups(state) if group.signature]
            self._counts = {group.signature: group.count for group in every}
            self._severest = {group.signature: group.worst for group in every}
            levels = {worst.severity for worst in self._severest.values()}
            self._only_errors = levels <= {"", ERROR}
        if changes.reset:
            self.table.load(state.findings)
        elif changes.findings:
            touched = set(changes.findings)  # a verdict changes the group's row
            for key in changes.findings:
                finding = state.findings.get(key)
                if finding is not None and finding.signature:
                    touched.update(state.groups.get(finding.signature, ())[:1])
            self.table.touch(touched)
        elif not (changes.commands or changes.campaign):
            return
        if changes.reset or changes.commands:
            before, self._minimisings = self._minimisings, minimisings(state)
            self.table.touch((before.keys() | self._minimisings.keys()) & state.findings.keys())
        self._count()
        self.refresh_row()  # a finding may have been minimised meanwhile

    def _count(self) -> None:
        """Show the number of rows; a short list is above the details."""
        super()._count()
        over = self.campaign.state in ENDED
        if self.campaign.findings:
            self.table.show_empty("no finding passes the filter")
        else:
            self.table.show_empty("no findings" if over else "no findings yet")
        rows = len(self.table.rows)
        few = rows <= FEW
        self.set_class(few, "-few")
        height = max(3, min(rows + 1, self.size.height // 3)) if few else None
        old = self.table.styles.height
        if (None if old is None else old.value) != height:
            self.table.styles.height = height

    def narrow(self, text: str) -> None:
        """Filter by words; if grouped, show one row per group."""
        self.apply(text, self._passes)

    def nothing(self) -> Sequence[Line]:
        """Return what fills the table."""
        over = self.campaign.state in ENDED
        return () if self.campaign.findings else no_findings_lines(over=over)

    def details(self, row: Finding, preview: Inputs | None, size: Size) -> Sequence[Line]:
        """Return title, location, report, other files of the group, minimised input, input."""
        command = self._minimising(row.key)
        moved = preview.input.file.moved if preview is not None else ""
        host = self.host
        smaller: Sequence[Line] = ()
        if preview is not None and preview.minimised is not None:
            smaller = file_lines(preview.minimised, size.width, "minimised input")
        return finding_lines(
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
        state = command.state if command is not None else ""
        return f"{name} {state} {row.place}", read_all  # rules about frames change the place

    def input_of(self, preview: Inputs) -> InputContent:
        """Return the minimised input if there is one, else the input."""
        return preview.input if preview.minimised is None else InputContent(preview.minimised)

    def describe_row(self) -> ActionContext:
        """Return the context of the row under the cursor, with whether it is being minimised."""
        first = next(iter(self.chosen()), None)
        minimising = first is not None and self._is_minimising(first)
        return replace(super().describe_row(), about=FindingContext(minimising))

    # ------------------------------------------------------------- actions

    def do_finding_group(self) -> None:
        """Show one row per group, or one per file."""
        self.grouped = not self.grouped
        self.table.invalidate()
        text = self.query_one(FilterBar).text
        self.host.when_free(lambda: self.narrow(text))
        self.notify("One row per signature" if self.grouped else "One row per file", timeout=2)

    def do_finding_copy(self) -> None:
        """Copy the command that reproduces the finding; of a watched campaign: in its instance."""
        run = self.host.run_dir
        self._copy(lambda file: repro_command(run or file.parent.parent, file), "command")

    def do_finding_copy_path(self) -> None:
        """Copy the path of the finding's file."""
        run = self.host.run_dir
        self._copy(lambda file: shell.path(path_there(run, str(file))), "path")

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

    def do_finding_judge(self) -> None:
        """Ask for a verdict about the marked groups, or the one under the cursor; send it."""
        chosen = self.chosen()
        by_signature = {f.signature: f for f in reversed(chosen) if f.signature}
        groups = [f for f in by_signature.values() if not is_by_signal(f.signature)][::-1]
        if not groups:
            if chosen:
                text = "No verdict is possible: the finding has no signature."
                self.notify(text, severity="warning", timeout=4)
            return
        given = given_about(self.campaign, groups[0].signature)
        verdict, note = (given.verdict, given.note) if given is not None else (KNOWN, "")
        regression = self._verdict_of(groups[0]) == REGRESSION

        signature = groups[0].signature
        draft = self._unrecorded.get(signature)

        def send(verdict: str, note: str) -> None:
            self._unrecorded[signature] = (verdict, note)
            commands = [JudgeFinding(f.file, verdict, note, f.instance) for f in groups]
            self._send_verdicts(commands, answered)

        def answered(outcome: CommandOutcome) -> bool:
            failed = outcome.kind in ("rejected", "failed")
            if not failed:
                self._unrecorded.pop(signature, None)
                self.unmark()
            # The notification shows what was done, the dialog what was not.
            return dialog.answered(outcome.detail or outcome.kind if failed else "") and failed

        lines = [_named_group(f) for f in groups[:MAX_NAMED]]
        if len(groups) > MAX_NAMED:
            lines.append(f"and {len(groups) - MAX_NAMED:,} more")
        if regression:
            lines.append("is a regression: it was marked as fixed, and stays one in this run")
        # Not "fixed" again by mistake, which would make no difference.
        start = KNOWN if regression else verdict
        start, note = draft or (start, note)
        dialog = VerdictScreen(lines, len(groups), start, note, send)
        self.app.push_screen(dialog)

    def do_finding_frames(self) -> None:
        """Ask which frames of the finding under the cursor count for signatures; send it."""
        finding, state = self.table.current, self.campaign
        if finding is None:
            return
        if not finding.basis:
            text = "The signature is not made of the frames of a stack."
            self.notify(text, severity="warning", timeout=4)
            return

        def answered(answer: tuple[list[str], list[str]] | None) -> None:
            if answer is not None:
                added, removed = answer
                commands: list[OfVerdictsFile] = []
                commands += [SkipFrames(added)] if added else []
                commands += [CountFrames(removed)] if removed else []
                self._send_judgements(commands, "frames that count", lambda _outcome: False)

        dialog = FramesScreen(
            finding, tuple(state.skipped_frames), lambda rules: regrouping(state, rules)
        )
        self.app.push_screen(dialog, answered)

    def _send_verdicts(self, commands: Sequence[JudgeFinding], answered: Answered) -> None:
        of = "" if len(commands) == 1 else f" of {len(commands):,} groups"
        name = f"verdict{of}: {label(commands[0].verdict)}"
        self._send_judgements(commands, name, answered)

    def _send_judgements(
        self, commands: Sequence[OfVerdictsFile], name: str, answered: Answered
    ) -> None:
        """Send commands; after the campaign's end, a separate process records each of them.

        ``answered`` is called with the worst outcome.
        """
        run = self.host.run_dir
        if run is None or not without_supervisor(self.host.action_context()):
            self.host.steer_all(commands, name, answered)
            return

        async def record() -> None:
            results = [await record_verdict(run, command) for command in commands]
            worst = min(results)  # False: not recorded
            if not answered(CommandOutcome("applied" if worst[0] else "failed", worst[1])):
                for done, answer in results:
                    severity: SeverityLevel = "information" if done else "error"
                    self.notify(plain(answer), severity=severity)

        work: WorkType[None] = record
        self.run_worker(work, group="judge")

    def do_row_source(self) -> None:
        """Open the Source screen at the innermost line that belongs to the program."""
        finding = self.table.current
        at = location(finding, self.campaign) if finding is not None else None
        if at is not None:
            self.host.go_to_row("source", f"{at[0]}:{at[1]}")
        elif finding is not None:
            self.notify("No frame of this finding has a line of a file outside libraries.")

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
        """Start or cancel minimising: by the supervisor, or by a command if there is none.

        Of marked findings those that are being minimised already are left alone.
        """
        chosen = self.chosen()
        if len(chosen) == 1 and self._is_minimising(chosen[0]):
            self._cancel(chosen[0])
            return
        chosen = [f for f in chosen if not self._is_minimising(f)]
        if without_supervisor(self.host.action_context()):
            for finding in chosen:
                self._minimise_locally(finding)
        elif chosen:
            one = len(chosen) == 1
            words = f"minimise {_named(chosen[0]) if one else f'{len(chosen):,} findings'}"
            if not self.host.steer_all([Minimise(f.file, f.instance) for f in chosen], words):
                return
        self.unmark()

    def do_table_unfilter(self) -> None:
        """Cancel minimising of the finding under the cursor; otherwise as in other screens."""
        finding = self.table.current
        free = not self.table.marks
        if free and finding is not None and self._is_minimising(finding):
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

        minimiser = self._minimisers[key] = LocalCommand(
            lambda: ["minimise", "--progress", str(run), str(settled(place).path)]
        )

        async def minimise() -> None:
            tell("starting…")
            try:
                async with self._minimise_turn:  # each search uses a whole core
                    result = await minimiser.run(tell)
            except asyncio.CancelledError:  # the user leaves the screen
                minimiser.cancel()
                raise
            finally:
                self._minimisers.pop(key, None)
            if result.status == 0:
                tell(result.output.strip().rpartition("\n")[2], "applied")
            else:
                tell(result.message or f"ended with exit status {result.status}", "rejected")

        work: WorkType[None] = minimise
        self.run_worker(work, group="minimise")


def _source_of(finding: Finding, started: float) -> SourceExcerpt | None:
    """The source around the crash. ``started``: Unix time of the campaign's start. Blocking."""
    frame = crash_frame(finding.detail, finding.place)
    if frame is None:
        return None
    return load_at(frame.file, frame.line, frame.code, started, SOURCE_LINES)


def _named_group(finding: Finding) -> str:
    """Return title and place of a finding's group, safe to draw."""
    place = f"  at {finding.place}" if finding.place else ""
    return plain(finding_title(finding) + place, 200)


def _named(finding: Finding) -> str:
    """A short name of the finding for notifications, which often contain its title already."""
    return f"{finding.instance}/" + finding.file.rpartition("/")[2].partition(",")[0]


def cut_title(title: str, width: int) -> str:
    """Shorten a title; what distinguishes it from another group's, at its end, stays if it can."""
    head, via, names = title.rpartition(" via ")
    room = width - len(via + names)
    return fit(head, room) + via + names if via and room >= LEAST_TITLE else fit(title, width)


def _kind(finding: Finding) -> Cell:
    return f"{finding_sign(finding.category)} {finding.category}", finding.category


LEGEND = Legend({
    "findings": {
        "kind": "crash, hang, or differs (two implementations disagree)",
        "severity": "What casr would call it, by fuzztui's own reading of the report or stack",
        "verdict": "A user's: known, fixed, won't fix; regression: was fixed, and is found again",
        "met": "How often its signature was met; with v: whether the file is the first",
        "title": "The error, or the signal",
        "place": "Innermost line of the application",
        "t": "Campaign time of the first finding of the group",
        "by": "The instance that found it",
        "host": "The hosts on which the group was found, of a campaign on several machines",
        "thanks": "The mutant whose fuzzing found it (fuzz-first)",
        "size": "Size of its file",
    },
})  # fmt: skip
"""What the columns mean."""
