"""The tour: five short cards, each next to the part of the Overview that it explains."""

from __future__ import annotations

from textwrap import wrap
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action_context import ActionContext, with_keys

TOURED: Final = "toured"
"""What is switched on (:class:`~fuzztui.tui.base.user_state.ViewOptions`) once it was offered."""

OFFER: Final = (
    "First time here? {app.tour:H} shows the screen in five steps; {app.help:question_mark} has"
    " every key."
)

STEPS: Final = (
    ("Header", "how it goes",
     "First the campaign and its state, which is red if an instance is in trouble; below it the"
     " screens with their keys, and the time with what is left of the budget. Most things can be"
     " clicked on, too."),
    ("#instances", "steering",
     "Keys are for the row under the cursor: ↑ and ↓ move the cursor, enter opens the row, and the"
     " line of keys at the bottom follows. In {view.corpus:2} Corpus and {view.mutants:4} Mutants,"
     " {mutant.promote:u} lets a row run more, and {mutant.skip:d} skips it."),
    ("EventList", "undo",
     "Each command is an event here, with its receipt: what came since. {app.undo:z} takes your"
     " last command back; again, the one before it."),
    ("Footer", "find",
     "{app.find:colon} finds any finding, mutant, entry, function, instance or command by words and"
     " goes there. {app.palette:ctrl+p} lists all that can be done here."),
    ("Footer", "help and replay",
     "{app.help:question_mark} explains each key and column, and why a key is grey. {app.quit:q}"
     " leaves; the campaign goes on. `fuzztui replay RUN` shows it again later, as a film."),
)  # fmt: skip
"""A selector of a widget, a title and a text for each step."""

_WIDTH: Final = 64
_FRAME: Final = 4
"""Cells of a card beside its text."""


class TourScreen(Dialog[None]):
    """The card of a step; enter shows the next one, escape ends the tour at any step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("enter,space,right,j,H", "step(1)", show=False),
        Binding("left,backspace,k", "step(-1)", show=False),
    ]
    DEFAULT_CSS = """
    TourScreen { align: left top; background: transparent; }
    TourScreen > Vertical { padding: 0 1; }
    """

    def __init__(self, now: ActionContext) -> None:
        super().__init__()
        self._now, self._at = now, 0

    def compose(self) -> ComposeResult:
        """Yield the card."""
        with Vertical():
            yield Static(markup=False)

    def on_mount(self) -> None:
        """Show the first step."""
        self.action_step(0)

    def on_resize(self) -> None:
        """Move the card to where the widget is now."""
        self.call_after_refresh(self.action_step, 0)

    def action_step(self, by: int) -> None:
        """Show another step; after the last one, end the tour."""
        at = max(0, self._at + by)
        if at >= len(STEPS):
            self.dismiss()
            return
        self._at = at
        selector, title, text = STEPS[at]
        card, (width, height) = self.query_one(Vertical), self.app.size
        wide = min(_WIDTH, width - 2)
        lines = wrap(plain(with_keys(text, self._now)), max(1, wide - _FRAME))
        tall = len(lines) + 2
        part = next(iter(self.app.screen_stack[0].query(selector)), None)
        place = None if part is None or not part.display else part.region
        sign, top = "", max(0, (height - tall) // 2)
        if place is not None and place.height:
            below = place.bottom + tall <= height
            sign, top = ("▲ ", place.bottom) if below else ("▼ ", max(0, place.y - tall))
        card.border_title = f"{sign}{at + 1} of {len(STEPS)}: {title}"
        card.border_subtitle = "enter next, ← back, esc ends"
        card.styles.width, card.styles.height, card.styles.offset = wide, tall, (1, top)
        self.query_one(Static).update("\n".join(lines))
