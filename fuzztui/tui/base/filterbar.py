"""The input line of a table's filter; visible only while a filter is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from fuzztui.tui.base.text import plain

MAX_PROBLEM = 300
"""Characters of a problem that are shown."""

MAX_VALUE = 60
"""Characters of a value that is offered."""

_TYPED = re.compile(r"(?:.*[\s,])?(?:([\w+÷#/-]+)(?:!=|=)(?:[^\s,|]*\|)*)?([^\s,|=]*)", re.DOTALL)
"""The key of the condition that is being typed, if any, and the start of a key or value."""


class ConditionSuggester(Suggester):
    """Completes the key, or the value, of the condition at the end of the text."""

    def __init__(
        self, keys: Callable[[], Sequence[str]], values: Callable[[str], Iterable[str]]
    ) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._keys, self._values = keys, values

    async def get_suggestion(self, value: str) -> str | None:
        """Return the text with its last condition completed; None: nothing to complete."""
        found = _TYPED.fullmatch(value)
        if found is None or not (found[1] or found[2]):
            return None
        key, start = found[1], found[2]
        offered = [f"{name}=" for name in self._keys()] if key is None else self._known(key)
        return next((value + o[len(start) :] for o in offered if self._fits(o, start)), None)

    @staticmethod
    def _fits(offered: str, start: str) -> bool:
        return offered.startswith(start) and offered != start

    def _known(self, key: str) -> list[str]:
        found = dict.fromkeys(self._values(key))
        return sorted(
            v for v in found if v and len(v) <= MAX_VALUE and not re.search(r'[\s,|"*?\[]', v)
        )


class FilterBar(Vertical):
    """An input and the number of matching rows. Enter returns to the table, escape clears it.

    Tab and the right arrow complete a key or a value. What is wrong with the text is below it, in
    as many lines as that needs.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "end", show=False),
        Binding("down", "done", show=False),
        Binding("tab", "complete", show=False),
        Binding("enter", "done", show=False, priority=True),  # at once: the input posts a message
    ]
    DEFAULT_CSS = """
    FilterBar {
        height: auto;
        display: none;
        background: $surface;
        & > Horizontal { height: 1; }
        & Static { width: auto; height: 1; color: $muted; }
        & > #filter-problem { width: 1fr; height: auto; max-height: 5; padding: 0 1;
            color: $warning; display: none; }
        & Input { width: 1fr; min-width: 12; height: 1; border: none; padding: 0;
            background: $surface; }
        & Input:focus { border: none; }
    }
    """

    class Changed(Message):
        """The filter's text changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        placeholder: str,
        back: Callable[[], None],
        keys: Callable[[], Sequence[str]] = lambda: (),
        values: Callable[[str], Iterable[str]] = lambda _: (),
    ) -> None:
        """``back`` moves the focus to the table at once, so that the table gets the next key.

        ``keys`` returns the keys of conditions, ``values`` some values of a key.
        """
        super().__init__()
        self._placeholder = placeholder
        self._back = back
        self._suggester = ConditionSuggester(keys, values)
        self._problem = ""

    def compose(self) -> ComposeResult:
        """Yield prompt, input and count."""
        with Horizontal():
            yield Static(" / ", markup=False)
            yield Input(
                placeholder=self._placeholder, select_on_focus=False, suggester=self._suggester
            )
            yield Static("", id="filter-count", markup=False)
        yield Static("", id="filter-problem", markup=False)

    @property
    def text(self) -> str:
        """The current filter text."""
        return self.query_one(Input).value

    def open(self) -> None:
        """Show the line and focus the input."""
        self.display = True
        box = self.query_one(Input)
        box.cursor_blink = False
        self.screen.set_focus(box)  # at once: the input must get the next key

    def set(self, text: str) -> None:
        """Show the line with a text; the focus stays where it is."""
        self.query_one(Input).value = text
        self.display = bool(text)

    def close(self) -> None:
        """Remove the filter."""
        self.query_one(Input).value = ""
        self.display = False

    def count(self, shown: int, total: int, progress: float = 1.0) -> None:
        """Show the number of matching rows; ``progress``: the part of the rows looked at."""
        searched = f" ({progress:.0%} searched)" if progress < 1 else ""
        text = f" {shown:,} of {total:,}{searched} "
        label = self.query_one("#filter-count", Static)
        if label.content != text:
            label.update(text)

    def say(self, problem: str) -> None:
        """Show what is wrong with the filter; an empty string: nothing."""
        if problem != self._problem:
            self._problem = problem
            label = self.query_one("#filter-problem", Static)
            label.update(plain(problem, MAX_PROBLEM))
            label.display = bool(problem)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Post :class:`Changed`."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def action_complete(self) -> None:
        """Take the completion that is shown after the cursor."""
        self.query_one(Input).action_cursor_right()

    def action_done(self) -> None:
        """Keep the filter and return to the table."""
        if not self.text:
            self.display = False
        self._back()

    def action_end(self) -> None:
        """Remove the filter and return to the table."""
        self.close()
        self._back()
