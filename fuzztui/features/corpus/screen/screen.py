"""The Corpus screen: all entries with lineage and content, and commands about them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from textual.geometry import Size
from textual.widget import Widget
from textual.worker import WorkType

from fuzztui.features.comparisons.fold import comparison_rows, operation_yields
from fuzztui.features.corpus.screen.detail import entry_lines, no_corpus_lines
from fuzztui.features.corpus.screen.yields import YieldStrip, yield_lines
from fuzztui.features.inputs.screen.hexview import load as load_file
from fuzztui.features.inputs.screen.input_screen import InputScreen
from fuzztui.features.inputs.screen.input_views import (
    InputContent,
    bytes_preview,
    input_lines,
    value_preview,
)
from fuzztui.features.source.fold import first_line
from fuzztui.kernel.model.selectors import ENDED, SEVERAL_TARGETS
from fuzztui.kernel.model.state import Changes, Entry, State
from fuzztui.tui.base import format, shell
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.columns import NARROW, NEVER, Cell, Column, count_column
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.frame.command_sender import pending_for
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.legend import Legend
from fuzztui.tui.labels.lineage import origin_of, parents_brief
from fuzztui.tui.labels.mutants import brief_place
from fuzztui.tui.labels.run_files import path_there, place_of

START = 160
"""Bytes of a file that are read for the column of inputs."""

MAX_STARTS = 5_000
"""Starts of files that are kept."""


class CorpusScreen(InputScreen[Entry, InputContent]):
    """A row for each entry of each instance."""

    TAB = "corpus"
    SCOPES = ("listing", "marking", "fuzzing")
    INPUT_FIRST = True

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, list[str]] = {}
        self._starts: OrderedDict[str, str] = OrderedDict()
        """The start of the file of each entry that was in view."""
        self._unread: set[str] = set()
        """Entries in view whose files have not been read."""
        self._reads_starts = False
        """Whether a worker reads them."""
        self._counted = (-1, -1)
        """The numbers of entries and of reports of trials for which yields were counted."""

    def body(self) -> Iterable[Widget]:
        """Yield what comparisons and mutators have brought, the table and the details."""
        yield YieldStrip()
        yield from super().body()

    def make_table(self) -> BigTable[Entry]:
        """Return the table of entries, oldest first."""
        return BigTable(self._columns())

    def _columns(self) -> Sequence[Column[Entry]]:
        return (
            Column("entry", "entry", lambda e: (e.key, "bold"), lambda e: (e.instance, e.id),
                   max=18),
            Column("steer", "steer", self._steer, lambda e: (e.steer, e.favored), min=10, max=10,
                   spare_below=NARROW, stays=True,
                   value=lambda e: e.steer or "favored" * e.favored),
            Column("input", "input", self._start, min=24, max=200, flex=True, needs=66,
                   searched=lambda e: e.preview),
            Column("t", "found", lambda e: (format.clock(e.t), "muted"), lambda e: e.t, "right",
                   min=7, max=12, drop=True),
            Column("size", "size", lambda e: (format.size(e.size), ""), lambda e: e.size, "right",
                   min=5),
            Column("edges", "edges", _edges, lambda e: e.edges, "right", descending=True,
                   spare=True),
            count_column("kills", "kills", lambda e: e.kills, "bold killed", spare=True),
            Column("why", "kept for", _why, lambda e: " ".join(e.reasons), min=8, max=24,
                   yields=10, drop=True, value=lambda e: " ".join(e.reasons)),
            Column("outcome", "outcome", _outcome, lambda e: e.outcome, max=9, needs=70,
                   spare=True, drop=True),
            Column("thanks", "via mutant", self._credit, lambda e: self._credit(e)[0], max=16,
                   spare=True),
            Column("op", "made by", _op, lambda e: e.op, max=24, yields=10, drop=True),
            Column("src", "of", self._src, None, "right", max=11, drop=True, spare=True),
            Column("host", "host", self._on, None, needs=NEVER),
        )  # fmt: skip

    def _on(self, entry: Entry) -> Cell:
        """The entry's host, for filters: it has no column, as names of instances begin with it."""
        instance = self.campaign.instances.get(entry.instance)
        return ("" if instance is None else instance.host), ""

    def _steer(self, entry: Entry) -> Cell:
        waiting = self._pending.get(entry.key)
        if waiting:
            return f"{waiting[-1]}…", "pending"
        if entry.steer == "promoted":
            return "▲ promoted", "promoted"
        if entry.steer == "demoted":
            return "▽ demoted", "demoted"
        if entry.steer == "skipped":
            return "⊘ skipped", "skipped"
        if entry.steer:
            return entry.steer, "muted"
        return ("★", "rate") if entry.favored else ("", "")

    def _src(self, entry: Entry) -> Cell:
        parent = self.host.lineage.parent(entry)
        return "" if parent is None else parents_brief(entry, parent), "muted"

    def _credit(self, entry: Entry) -> Cell:
        """The mutant credited for an entry of the target."""
        lineage = self.host.lineage
        mutant = lineage.mutant_behind(entry) if lineage.of_target(entry) else None
        return ("", "") if mutant is None else (brief_place(mutant), "killed")

    def show(self, changes: Changes) -> None:
        """Show new and changed entries, and commands that came or went."""
        state = self.campaign
        self._show_yields(state)
        before, self._pending = self._pending, pending_for(state)
        self._update_empty()
        if changes.reset:
            self.table.load(state.entries)
        else:
            steered = before.keys() ^ self._pending.keys() if changes.commands else set()
            changed = changes.entries | (steered & state.entries.keys())
            self.table.touch(changed)
            if any(state.entries[key].first >= 0 for key in changes.entries):
                self.table.invalidate()  # rows of children name their renumbered parents
            entry = self.table.current  # what came since it was steered grows with other entries
            grows = bool(changes.entries) and entry is not None and bool(entry.steer)
            if self.table.cursor not in changed and not changes.commands and not grows:
                return
        self.show_detail()
        self.host.refresh_footer()

    def _show_yields(self, state: State) -> None:
        """Count entries by operation, unless a large corpus has hardly grown."""
        entries, _ = self._counted
        now = len(state.entries), sum(map(sum, map(dict.values, state.trials_by.values())))
        if now == self._counted or 0 < now[0] - entries < entries // 1000:
            return
        self._counted = now
        self.query_one(YieldStrip).show(operation_yields(state))

    def narrow(self, text: str) -> None:
        """Apply the filter."""
        super().narrow(text)
        self._update_empty()

    def _update_empty(self) -> None:
        if self.campaign.entries:
            words = "no entry passes the filter"
        elif self.campaign.engine == SEVERAL_TARGETS:
            words = "entries are in the runs of the targets; Targets opens one"
        elif self.campaign.state in ENDED:
            words = "no entry"
        else:
            words = "waiting for the first entry…"
        self.table.show_empty(words)

    def nothing(self) -> Sequence[Line]:
        """Return what fills the table."""
        return () if self.campaign.entries else no_corpus_lines()

    def details(self, row: Entry, preview: InputContent | None, size: Size) -> Sequence[Line]:
        """Return the input, properties, kills and lineage."""
        pending = self._pending.get(row.key, ())
        content = input_lines(preview, size.width, self._view) if preview is not None else []
        return entry_lines(
            row,
            self.campaign,
            self.host.lineage,
            self.host.run_dir,
            pending=pending,
            content=content,
        )

    def preview_of(self, row: Entry) -> tuple[str, Callable[[], InputContent]] | None:
        """Return the reader of the entry's and its parent's content."""
        return self.reading_of(row)

    def input_of(self, preview: InputContent) -> InputContent:
        """Return the entry's input."""
        return preview

    def _start(self, entry: Entry) -> Cell:
        """The start of the generated input, else of the file, which is read when in view."""
        if entry.preview:
            return value_preview(entry.preview), ""
        if entry.key in self._starts:
            self._starts.move_to_end(entry.key)
            return self._starts[entry.key], ""
        if entry.file and not entry.shown_seq and entry.key not in self._unread:
            self._unread.add(entry.key)
            if not self._reads_starts:
                self._reads_starts = True
                load: WorkType[None] = self._load_starts
                self.run_worker(load, group="starts")
        return "", "muted"

    async def _load_starts(self) -> None:
        await asyncio.sleep(0)  # one paint asks for several rows
        try:
            while self._unread:
                await self._load_some()
        finally:
            self._reads_starts = False

    async def _load_some(self) -> None:
        asked, state, run = [*self._unread], self.campaign, self.host.run_dir
        rows = [state.entries[key] for key in asked if key in state.entries]
        places = {e.key: place_of(e, state, run) for e in rows}

        def read() -> dict[str, str]:
            files = {k: load_file(p.root, p.relative, START) for k, p in places.items() if p}
            return {key: bytes_preview(file.data) for key, file in files.items()}

        found = await in_thread(read)
        self._unread.difference_update(asked)
        self._starts |= found
        while len(self._starts) > MAX_STARTS:
            self._starts.popitem(last=False)
        self.table.touch(found)

    # ------------------------------------------------------------- actions

    def do_corpus_yields(self) -> None:
        """Show what each operation and each comparison of the target has brought."""

        def look() -> Sequence[Line]:
            state = self.campaign
            width = int(min(96, 0.96 * self.app.size.width)) - 6  # of the dialog's pane
            return yield_lines(operation_yields(state), comparison_rows(state), width)

        def show() -> None:
            self.app.push_screen(BoxScreen("Yield", look, 2.0))

        self.host.when_free(show)

    def do_corpus_command(self, action: Action) -> None:
        """Send the command of an action for the marked entries, else for that at the cursor."""
        entries = self.chosen()
        if not entries or action.command is None:
            return
        commands = [action.command(entry.id, entry.instance) for entry in entries]
        one = len(entries) == 1
        what = entries[0].key if one else f"{len(entries):,} entries"
        if self.host.steer_all(commands, f"{commands[0].name} {what}"):
            self.unmark()

    def do_entry_copy(self) -> None:
        """Copy the path of the entry's file."""
        entry = self.table.current
        place = None if entry is None else place_of(entry, self.campaign, self.host.run_dir)
        if place is not None:
            there = path_there(self.host.run_dir, str(place.path))
            self.host.copy(shell.path(there), "path")

    def do_row_source(self) -> None:
        """Open the Source screen at the first line that the entry was the first to cover."""
        entry = self.table.current
        if entry is None:
            return

        def go() -> None:
            state = self.campaign
            at = first_line(state, entry)
            if at is not None:
                self.host.go_to_row("source", f"{at[0]}:{at[1]}")
            elif state.covered:
                text = f"{entry.key} has covered no line first: earlier entries had covered them."
                self.notify(text, timeout=4)
            else:
                self.notify("The log has no covered lines: the Source screen says why.", timeout=4)

        self.host.when_free(go)

    def do_entry_parent(self) -> None:
        """Go to the entry's parent."""
        entry = self.table.current
        if entry is None:
            return
        parent = self.host.lineage.parent(entry)
        if parent is None or parent.entry is None:
            self.notify("The log contains no parent of this entry.")
        elif not self.table.go_to(parent.key):
            self.notify("The parent is hidden by the filter.")


def _edges(entry: Entry) -> Cell:
    return format.count(entry.edges) if entry.edges >= 0 else "", "edge"


_WHY = {"kill": "killed", "valid-edge": "valid"}
"""Styles of reasons, the most important reason first."""


def _why(entry: Entry) -> Cell:
    if entry.reasons:
        styles = [style for reason, style in _WHY.items() if reason in entry.reasons]
        return " ".join(entry.reasons), styles[0] if styles else ""
    if entry.sync:
        return f"⇄ {origin_of(entry)}", "imported"
    return ("+cov", "edge") if entry.cov else (format.NONE, "muted")


def _outcome(entry: Entry) -> Cell:
    style = {"success": "valid", "failure": "crash", "timeout": "hang"}.get(entry.outcome, "muted")
    return entry.outcome, style


def _op(entry: Entry) -> Cell:
    seed = entry.op.replace("orig:", "seed ", 1) if entry.op else "seed"
    return seed if not entry.src else entry.op or format.NONE, "muted"


LEGEND = Legend({
    "corpus": {
        "entry": "Instance and number in its queue",
        "steer": "★ favored by the scheduler; or what a user asked for: promoted, demoted, skipped",
        "input": "Start of the input: of what a generator made, of the text, or of the bytes",
        "t": "Campaign time at which the entry was found",
        "size": "Size of its file; of generated inputs: of the choices",
        "edges": "Cells of the coverage map that it covers",
        "kills": "Mutants that it was the first to kill",
        "why": "Why it was kept: seed, edge, valid-edge (first valid input there), kill, whole "
        "(mutants are still to run on it), imported",
        "outcome": "How the target took it: success, or invalid (rejected as documented)",
        "thanks": "The mutant whose fuzzing found it (fuzz-first)",
        "op": "The mutator that made it, and how often it was applied",
        "src": "Its parents' numbers", "host": "The host of its instance: only for the filter",
    },
})  # fmt: skip
"""What the columns mean."""
