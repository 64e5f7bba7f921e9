"""The Source screen: the target's files, and the lines of one with what is known of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual import on
from textual.containers import Container
from textual.geometry import Size
from textual.widget import Widget
from textual.worker import WorkType

from fuzztui.features.source.index import SourceIndex
from fuzztui.features.source.screen.actions import SourceContext
from fuzztui.features.source.screen.code import CodeColumns, CodeLine, FileText, OpenFile, load_text
from fuzztui.features.source.screen.detail import Measuring, line_lines, node_lines
from fuzztui.features.source.screen.map import CodeMap
from fuzztui.features.source.screen.measure import MeasuredLines, measured_lines
from fuzztui.features.source.screen.tree import CODE, tree_columns
from fuzztui.features.source.tree import CodeNode
from fuzztui.kernel.model.state import Changes
from fuzztui.kernel.wire.conditions import FilterKey
from fuzztui.tui.base import shell
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.columns import column_keys
from fuzztui.tui.base.dialogs import ConfirmScreen
from fuzztui.tui.base.local_command import MESSAGE_PREFIX, LocalCommand
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.table import BigTable

Row = CodeNode | CodeLine


class SourceScreen(ListingScreen[Row, None]):
    """Files and functions next to the lines of one file; in a narrow terminal one of the two."""

    TAB = "source"
    HINT = "words, or conditions: cov=frontier mutants=● cover<50"
    DEFAULT_CSS = """
    SourceScreen {
        & #listing, &.-narrow #listing, &.-medium #listing {
            layout: horizontal; margin-top: 1;
        }
        &.-short #listing, &.-tiny #listing { margin-top: 0; }
        & #tree { width: 2fr; height: 1fr; max-width: 70; }
        & #map { display: none; width: 100%; height: 1fr; }
        &.-map #map { display: block; }
        &.-map #tree, &.-map #right, &.-map.-code #right { display: none; }
        & #right { width: 3fr; layout: vertical; border-left: vkey $rule; }
        & #code { width: 100%; height: 1fr; }
        & DetailPane, &.-narrow DetailPane, &.-medium DetailPane {
            width: 100%; height: 9; border-left: none; border-top: solid $rule; padding: 0 1;
        }
        & DetailPane:focus, &.-narrow DetailPane:focus, &.-medium DetailPane:focus {
            height: 60%; border-left: none; border-top: solid $primary;
        }
        &.-short DetailPane { height: 6; }
        &.-tiny DetailPane { height: 4; }
        &.-narrow #tree, &.-medium #tree { width: 100%; max-width: 100%; }
        &.-narrow #right, &.-medium #right { display: none; border-left: none; width: 100%; }
        &.-code.-narrow #tree, &.-code.-medium #tree { display: none; }
        &.-code.-narrow #right, &.-code.-medium #right { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._index = SourceIndex()
        self._names: Mapping[str, str] = {}
        self._rows: dict[str, CodeNode] = {}
        self._columns = CodeColumns()
        self._text = FileText("")
        self._sha = ""
        """The hash with which the open file was compared; an empty string: unknown."""
        self._wanted_line = 0
        """The line to go to once the file was read; 0: none."""
        self._back_to_map = False
        """Whether the lines were opened from the map."""
        self._next_mutant = ("", 0)
        """The line whose mutants were looked at, and the number of the next one."""
        self._measured = MeasuredLines()
        self._measurement: LocalCommand | None = None
        self._progress = ""
        """The last message of the measurement that is running."""

    @classmethod
    def scopes(cls) -> tuple[str, ...]:
        """Return all scopes, with that of the map, whose keys need the focus."""
        return (*super().scopes(), "map")

    def body(self) -> list[Widget]:
        """Return both tables, the map, the details and the filter."""
        every = tree_columns(self._rows)
        tree: BigTable[Any] = BigTable(every, empty="no source file", first=CODE, id="tree")
        tree.topic = "source"
        code: BigTable[Any] = BigTable(self._columns.columns(), empty="no file is open", id="code")
        code.topic = "code"
        code.MARKABLE = tree.MARKABLE = False  # type: ignore[misc]
        right = Container(code, DetailPane(id="detail"), id="right")
        return [Container(tree, CodeMap(), right, id="listing"), self.filter_bar()]

    @property
    def files(self) -> BigTable[Any]:
        """The table of files and functions."""
        return self.query_one("#tree", BigTable)

    @property
    def code(self) -> BigTable[Any]:
        """The table of lines."""
        return self.query_one("#code", BigTable)

    @property
    def map(self) -> CodeMap:
        """The map of files and functions."""
        return self.query_one(CodeMap)

    @property
    def table(self) -> BigTable[Any]:
        """The table that has, or last had, the focus."""
        return self.code if self.has_class("-code") else self.files

    @property
    def _file(self) -> OpenFile:
        return self._columns.file

    def watch_focused(self, focused: Widget | None) -> None:
        """Show the details of the table with the focus."""
        if isinstance(focused, BigTable):
            self._turn(focused is self.code)

    def _turn(self, to_code: bool) -> None:
        if to_code != self.has_class("-code"):
            self.set_class(to_code, "-code")
            self.look()

    # -------------------------------------------------------------- changes

    def show(self, changes: Changes) -> None:
        """Show changed files, and changed lines of the open one."""
        state = self.campaign
        self._measured.at(state.t)
        changed = self._index.take(state, changes)
        if not (changed or changes.reset or changes.source):
            self._show_empty()
            return
        self._update_tree(changed, reset=changes.reset)
        self._show_empty()
        file = self._file
        if file.path:
            file.state = state
            if changes.reset:
                self.code.invalidate()
            else:
                lines = [*map(str, changed.get(file.path, ()))]
                if self._text.problem and any(n not in file.rows for n in lines):
                    file.fill(self._text)  # its rows are the lines of which something is known
                    self.code.load(file.rows)
                self.code.touch((n for n in lines if n in file.rows), still=True)
            if self._sha_of(file.path) != self._sha:  # the campaign has loaded another version
                self._read(file.path)
            if (place := self._index.place(file.path)) != file.path:
                self._open(place)  # the file was a copy that fuzz-first has made
        elif first := self._first_file():
            self._open(first)
            self.files.go_to(first)
        self.show_detail()
        self.host.refresh_footer()

    def _update_tree(self, changed: Iterable[str], *, reset: bool) -> None:
        names = self._index.names()
        every = reset or names != self._names
        self._names = names
        now = {
            node.key: node
            for path in (names if every else changed)
            if path in names
            for node in self._index.nodes(path, names[path], every=every)
        }
        if every:
            self.files.replace_rows(self._rows, now, reset=reset)
        else:
            self._rows.update(now)
            self.files.touch(now)
        if self.has_class("-map"):
            self._show_map()

    def _first_file(self) -> str:
        """The file that is opened at first: the one with most to look at."""
        files = [n for n in self._rows.values() if not n.function]
        by_work = max(
            files, key=lambda n: (n.findings, n.survivors, n.frontier, n.covered), default=None
        )
        return by_work.path if by_work is not None else ""

    # ----------------------------------------------------------- open files

    def _open(self, path: str, line: int = 0) -> None:
        """Show a file in the code table, and go to a line of it."""
        self._wanted_line = line
        if self._file.path == path:
            self._go_to_line(line)
            return
        self._columns.file = OpenFile(path, self._index, self.campaign)
        self._text = FileText(path)
        self._read(path)

    def _read(self, path: str) -> None:
        """Read a file, and compare it with the one that the campaign has loaded."""
        self._sha = sha = self._sha_of(path)
        started = 0.0 if sha else self.campaign.started_wall
        load: WorkType[None] = partial(self._load, partial(load_text, path, sha, started))
        self.run_worker(load, group="source", exclusive=True)

    def _sha_of(self, path: str) -> str:
        row = self.campaign.sources.get(path)
        return "" if row is None else row.sha

    async def _load(self, load: Callable[[], FileText]) -> None:
        text = await in_thread(load)
        self.host.when_free(lambda: self._loaded(text))

    def _loaded(self, text: FileText) -> None:
        file = self._file
        if file.path != text.path or not self.app.is_running:
            return
        self._text = text
        file.fill(text)
        self.code.show_empty(plain(text.problem) if text.problem else "an empty file")
        warning = text.problem or text.warning
        name = self._names.get(text.path, text.path)
        short = name.rpartition("/")[2]
        notes = (f"{name}: {warning}", f"{short}: {warning}", "changed!") if warning else (name,)
        self.code.set_caption(*(plain(note) for note in notes))
        self.code.load(file.rows)
        self._go_to_line(self._wanted_line)
        self._count()
        self.show_detail()

    def _go_to_line(self, line: int) -> None:
        """Go to a line; if the table has no row for it, to the nearest line that has one.

        Without the file's text only lines of which something is known have rows.
        """
        if not line or not self._file.rows:
            return
        self._wanted_line = 0
        key = str(line)
        if key not in self._file.rows:
            numbers = [row.number for row in self._file.rows.values()]
            key = str(min(numbers, key=lambda n: abs(n - line)))
        if not self.code.go_to(key):  # hidden by the filter
            self.narrow("")
            self.code.go_to(key)

    def reveal(self, key: str) -> None:
        """Open a file at a line: ``path:line``."""
        path, _, line = key.rpartition(":")
        if not path or not line.isdecimal() or len(line) > 9:
            self.notify(plain(f"{key}: the log does not contain the line"))
            return
        self._leave_map()
        self.set_class(True, "-code")
        self._open(self._index.place(path), int(line))
        self.set_focus(self.code)
        self.look()

    # -------------------------------------------------------------- details

    def details(self, row: Row, preview: None, size: Size) -> Sequence[Line]:
        """Return the details of a line, file or function."""
        if isinstance(row, CodeNode):
            return list(node_lines(row, self._measuring()))
        file = self._file
        name = self._names.get(file.path, file.path)
        smallest = self._measured.smallest.get(file.path, {}) if self._measured.done else None
        return list(line_lines(row, file, name, smallest, self._measuring()))

    def _show_empty(self) -> None:
        """Show in the table of files why it is empty: a narrow terminal has no other place."""
        text = "no file or function passes the filter"
        if not self._rows:
            text = self._measuring().nothing()
        self.files.show_empty(text)

    def _measuring(self) -> Measuring:
        state = self.campaign
        return Measuring(
            state.engine,
            state.coverage_build,
            state.coverage_reason,
            self._measure_key(),
            self.host.status.watched,
            self._progress,
        )

    def _measure_key(self) -> str:
        """The key that measures; an empty string if that is impossible."""
        action, now = BY_ID["source.measure"], self.host.action_context()
        return "" if action.why_not(now) else action.key_label(now)

    def describe_row(self) -> ActionContext:
        """Return whether a row is under the cursor."""
        about = SourceContext(self._measurement is not None)
        return ActionContext(row=self.table.current is not None, about=about)

    # -------------------------------------------------------------- looking

    @on(BigTable.Selected)
    def _opened_row(self, event: BigTable.Selected) -> None:
        """Open a file or function; of a line go to the details."""
        event.stop()
        if event.table is self.files:
            node = self.files.current
            if isinstance(node, CodeNode) and self.may_take_focus:
                self._open(node.path, node.first)
                self.set_focus(self.code)
        elif self.may_take_focus:
            self.set_focus(self.pane)

    def _show_map(self) -> None:
        self.map.show(self._rows, self._measuring().nothing().partition("\n")[0])

    @on(CodeMap.Selected)
    def _opened_box(self, event: CodeMap.Selected) -> None:
        """Open the function or file of a box."""
        if (node := self._rows.get(event.key)) is not None and self.may_take_focus:
            self._leave_map()
            self._back_to_map = True
            self._open(node.path, node.first)
            self.set_focus(self.code)

    @on(CodeMap.Moved)
    def _moved_box(self) -> None:
        self.files.go_to(self.map.cursor)

    def _leave_map(self) -> bool:
        """Show the tables again. Returns whether the map was there."""
        was_there = self.has_class("-map")
        self.set_class(False, "-map")
        return was_there

    def do_source_map(self) -> None:
        """Show the map in place of the tables, or the tables again."""
        self._back_to_map = False
        if not self._leave_map():
            self.set_class(True, "-map")
            self.set_class(False, "-code")
            self._show_map()
            self.map.cursor = self.files.cursor or ""
            self.set_focus(self.map)
        else:
            self.set_focus(self.files)

    @on(BigTable.Highlighted)
    def _follow(self, event: BigTable.Highlighted) -> None:
        """Put the cursor of the tree on the function around the line."""
        file, line = self._file, self._line
        if event.table is not self.code or not line:
            return
        key = file.function_key(line)
        if self.files.cursor != key and not self.files.go_to(key):
            self.files.go_to(file.path)

    def do_source_other(self) -> None:
        """Switch between files and lines."""
        self._leave_map()
        self.set_focus(self.files if self.has_class("-code") else self.code)

    def do_table_unfilter(self) -> None:
        """Go back: from details to lines, from unfiltered lines to files; or remove the filter."""
        at_code = self.has_class("-code") and self.focused is not self.pane
        unfiltered = at_code and not self.code.rows.filter_text
        if unfiltered and self._back_to_map:
            self.do_source_map()
        elif self._leave_map() or unfiltered:
            self.set_focus(self.files)
        else:
            super().do_table_unfilter()

    def keys(self) -> Mapping[str, FilterKey[Any]]:
        """Return the keys of the table with the focus."""
        return column_keys(self.table.columns)

    @property
    def _line(self) -> int:
        """The line under the cursor; 0: none."""
        row = self.code.current
        return row.number if isinstance(row, CodeLine) and self.has_class("-code") else 0

    def do_source_next(self, step: int) -> None:
        """Go to the next line with a finding or survivor, or on the frontier."""
        file = self._file
        if not file.path:
            return
        row = self.code.current
        here = row.number if isinstance(row, CodeLine) else 0
        lines = [n for n in file.interest() if (n - here) * step > 0]
        if not lines:
            self.notify("No further line with a finding or survivor, or on the frontier.")
            return
        self._go_to_line(min(lines) if step > 0 else max(lines))
        self.set_focus(self.code)

    def do_source_mutants(self) -> None:
        """Go to a mutant of the line: pressed again there, to the next one."""
        file, line = self._file, self._line
        mutants = file.mutants(line)
        if not mutants:
            self.notify("No mutant is on this line.")
            return
        place = f"{file.path}:{line}"
        at = self._next_mutant[1] if self._next_mutant[0] == place else 0
        self._next_mutant = place, (at + 1) % len(mutants)
        self.host.go_to_row("mutants", mutants[at % len(mutants)].id)

    def do_source_finding(self) -> None:
        """Go to the first finding of the line."""
        findings = self._file.findings(self._line)
        if findings:
            self.host.go_to_row("findings", findings[0].key)
        else:
            self.notify("No finding ends on this line.")

    def do_source_first(self) -> None:
        """Go to the entry that has covered the line first."""
        coverage = self._file.coverage
        first = coverage.first.get(self._line) if coverage is not None else None
        if first is None:
            self.notify("No entry is known to have executed this line.")
        elif not first.entry:
            self.notify("The line was executed when the target was imported.")
        else:
            self.host.go_to_row("corpus", first.entry)

    def do_source_smallest(self) -> None:
        """Go to the smallest entry that executes the line."""
        least = self._measured.smallest.get(self._file.path, {}).get(self._line)
        if least is not None:
            self.host.go_to_row("corpus", least.entry)
        elif self._measured.done:
            self.notify("No entry executes this line.")
        elif self._measurement is not None:
            self.notify("The smallest entries are being measured.")
        else:
            self.host.perform("source.measure")

    def do_source_copy(self) -> None:
        """Copy path and line."""
        row = self.table.current
        if isinstance(row, CodeNode):
            self.host.copy(shell.path(f"{row.path}:{row.first}"), "location")
        elif self._file.path:
            self.host.copy(shell.path(f"{self._file.path}:{self._line or 1}"), "location")

    def do_row_edit(self) -> None:
        """Open the file at the line in the user's editor."""
        row = self.table.current
        if isinstance(row, CodeNode):
            path, line = Path(row.path), row.first
        elif self._file.path:
            path, line = Path(self._file.path), self._line or 1
        else:
            return
        if path.is_absolute() and path.is_file():
            self.host.edit_file(path, line)
        else:
            self.notify(plain(f"{path}: there is no such file here"), timeout=4)

    # ------------------------------------------------------------ measuring

    def do_source_measure(self) -> None:
        """Run the corpus again for the smallest entries, and coverage that the log lacks.

        While that is running: ask whether to cancel it.
        """
        if self._measurement is not None:
            self._ask_to_cancel(self._measurement)
            return
        run = self.host.run_dir
        if run is None:
            return
        arguments = ["coverage", "--by-line", "--progress", str(run)]
        self._measurement = LocalCommand(lambda: arguments)
        self._show_progress("running the corpus again")
        measure: WorkType[None] = partial(self._measure, self._measurement)
        self.run_worker(measure, group="measure")

    def _ask_to_cancel(self, measurement: LocalCommand) -> None:
        def answered(yes: bool | None) -> None:
            if yes and self._measurement is measurement:
                measurement.cancel()

        question = "The corpus is being run again. If it is cancelled, nothing is measured."
        self.app.push_screen(ConfirmScreen("Measurement", question, "Cancel it", "Go on"), answered)

    async def _measure(self, measurement: LocalCommand) -> None:
        self.notify("Running the corpus again.", timeout=4)
        result = await measurement.run(self._show_progress)
        measured, problem = None, "cancelled"
        if not measurement.cancelled:
            measured, problem = await in_thread(lambda: measured_lines(result))
        self._measurement = None
        self._show_progress("")
        if problem:
            self.notify(plain(problem), title="Not measured", severity="warning")
        if measured is not None:
            self.host.when_free(lambda: self._take(measured))

    def _show_progress(self, text: str) -> None:
        self._progress = text.removeprefix(MESSAGE_PREFIX)
        if not (self.is_mounted and self.app.is_running):
            return  # called too late: the app is removing the widgets
        self.files.set_caption(*([plain(self._progress)] if text else []))
        self.show_detail()

    def _take(self, measured: MeasuredLines) -> None:
        self._measured, self._index.measured = measured, measured.files
        if self._file.path and not self._file.rows:
            self.show(Changes(source=True))
            self._file.fill(self._text)
            self.code.load(self._file.rows)
        self.show(Changes(source=True))

    def on_unmount(self) -> None:
        """End the measurement with the app."""
        if self._measurement is not None:
            self._measurement.cancel()
