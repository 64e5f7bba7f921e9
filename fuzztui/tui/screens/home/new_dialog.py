"""A list of what can be started: a new campaign of the user's own, and the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.text import plain

OWN = "own"
"""The answer for a campaign of the user's own."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample campaign."""

    file: str
    title: str
    needs: str = ""
    """What must be installed for it; an empty string: nothing is missing."""


class NewScreen(Dialog[str | None]):
    """Returns :data:`OWN`, or the file of a sample; None after escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        # At once: a key that is typed ahead would come before the list's own message.
        Binding("enter", "choose", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    NewScreen {
        & > Vertical { width: 110; height: auto; max-height: 80%; padding: 0 1; }
        & OptionList {
            height: auto; max-height: 100%; border: none; padding: 0; background: $surface;
            text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
        }
        & OptionList:focus { border: none; background-tint: transparent; }
    }
    """

    def __init__(self, samples: Sequence[SampleRow], own: str) -> None:
        """``own``: the text of the first row."""
        super().__init__()
        self._samples = samples
        self._own = own

    def compose(self) -> ComposeResult:
        """Yield the list in a box."""
        with Vertical() as box:
            box.border_title = "New campaign"
            box.border_subtitle = "⏎ starts, esc cancels"
            options = [Option(plain(self._own, 200), id=OWN)]
            room = max((len(s.file) for s in self._samples), default=0) + 2
            for s in self._samples:
                needs = f"{s.needs}: " if s.needs else ""
                options.append(Option(plain(f"{s.file:<{room}}{needs}{s.title}", 200), id=s.file))
            yield OptionList(*options, markup=False)

    def on_mount(self) -> None:
        """Focus the list."""
        self.query_one(OptionList).focus()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        rows = self.query_one(OptionList)
        (rows.action_cursor_down if by > 0 else rows.action_cursor_up)()

    def action_choose(self) -> None:
        """Answer with the row under the cursor."""
        rows = self.query_one(OptionList)
        if rows.highlighted is not None:
            self.dismiss(rows.get_option_at_index(rows.highlighted).id)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)
