"""A listing whose rows have inputs: entries or findings."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual.worker import WorkType

from fuzztui.features.inputs.screen.hexview import reading
from fuzztui.features.inputs.screen.input_views import VIEWS, InputContent, editable
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.state import Entry, Finding
from fuzztui.kernel.wire.events import InputShown
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action_context import ActionContext, rows_context
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.labels.run_files import place_of
from fuzztui.tui.labels.status import Status

R = TypeVar("R", Entry, Finding)
P = TypeVar("P")


_MAX_KEPT = 100
"""Records of inputs that are kept."""


class ShownInputs:
    """What generators made of inputs: one record of the log each. Blocking; used in threads."""

    def __init__(self, open_reader: Callable[[], LogReader]) -> None:
        self._open = open_reader
        self._reader: LogReader | None = None
        self._kept: OrderedDict[int, InputShown] = OrderedDict()
        self._turn = threading.Lock()

    def read(self, seq: int) -> InputShown | None:
        """Return record ``seq``; None for 0, for another kind, or if it cannot be read."""
        if seq <= 0:
            return None
        with self._turn:
            if seq not in self._kept:
                event = self._read(seq)
                if not isinstance(event, InputShown):
                    return None
                self._kept[seq] = event
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            return self._kept[seq]

    def _read(self, seq: int) -> object:
        try:
            if self._reader is None:
                self._reader = self._open()
            self._reader.refresh()
            record = next(iter(self._reader.records(seq - 1, 1)), None)
        except (LogError, OSError):
            self._reader = None
            return None
        return record.event if record is not None and record.seq == seq else None


class InputScreen(ListingScreen[R, P], Generic[R, P]):
    """Reads inputs, goes through their views, opens a copy in the editor.

    Subclasses return the input in a preview by :meth:`input_of`.
    """

    INPUT_FIRST: ClassVar[bool] = False
    """Whether the details begin with the input: another view is then shown from the top."""

    def __init__(self) -> None:
        super().__init__()
        self._view = VIEWS[0]
        self._shown = ShownInputs(self._open_reader)
        self._reconnections = 0

    def tick(self, status: Status) -> None:
        """Read the input again after the connection to another machine was restored."""
        super().tick(status)
        if self._reconnections != self.host.reconnections:
            self._reconnections = self.host.reconnections
            self.refresh_row()

    def _open_reader(self) -> LogReader:
        return self.host.open_reader()

    def input_of(self, preview: P) -> InputContent:
        """Return the input that the editor opens."""
        raise NotImplementedError

    def reading_of(self, row: Entry | Finding) -> tuple[str, Callable[[], InputContent]] | None:
        """Return the name and the (blocking) reader of a row's input and its parent's."""
        own = self._reading(row)
        if own is None:
            return None
        name, read = own
        parent = self.host.lineage.parent(row)
        before = None if parent is None or parent.entry is None else self._reading(parent.entry)
        if before is None:
            return name, read
        return name, lambda: replace(read(), parent=before[1]())

    def _reading(self, row: Entry | Finding) -> tuple[str, Callable[[], InputContent]] | None:
        file = reading(place_of(row, self.campaign, self.host.run_dir))
        if file is None:
            return None
        name, read = file
        instance = self.campaign.instances.get(row.instance)
        away = "" if instance is None else instance.host

        def content() -> InputContent:
            preview = read()
            if preview.gone and away:
                text = f"only on the host {away}: findings and entries of its main are copied here"
                preview = replace(preview, problem=text)
            return InputContent(preview, self._shown.read(row.shown_seq))

        return f"{name} {row.shown_seq} {self._reconnections}", content

    def describe_row(self) -> ActionContext:
        """Return the context of the instances of the marked rows, or of that at the cursor."""
        names = list(dict.fromkeys(row.instance for row in self.chosen()))
        if not names:
            return ActionContext()
        instances = map(self.campaign.instances.get, names)
        return replace(rows_context(instances), row=True, instance=names[0])

    # ------------------------------------------------------------- actions

    def do_input_view(self) -> None:
        """Show the input, its bytes, or what changed against its parent."""
        self._view = VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)]
        self.show_detail(top=self.INPUT_FIRST)

    def do_row_edit(self) -> None:
        """Open a copy of the input in the user's editor."""
        row = self.table.current
        wanted = None if row is None else self.preview_of(row)
        if row is None or wanted is None:
            self.notify("This row has no input.", timeout=3)
            return
        edit: WorkType[None] = partial(self._edit, row, wanted[1])
        self.run_worker(edit, group="edit", exclusive=True)

    async def _edit(self, row: R, read: Callable[[], P]) -> None:
        # The preview may not have been read yet when the key is pressed: it is read again.
        content = self.input_of(await in_thread(read))
        if problem := content.file.problem:
            self.notify(plain(problem), severity="warning")
        else:
            self.host.edit_copy(row.file.rpartition("/")[2], editable(content))
