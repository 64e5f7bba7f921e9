"""Canvases that draw the campaign's status, and those whose parts can be clicked."""

from __future__ import annotations

from textual.message import Message

from fuzztui.tui.base.canvas import Canvas
from fuzztui.tui.labels.status import Status

__all__ = ["ChoiceStrip", "StatusCanvas"]


class StatusCanvas(Canvas):
    """Draws ``self._status``, the last one that was shown."""

    def __init__(self) -> None:
        super().__init__()
        self._status = Status()

    def show(self, status: Status) -> None:
        """Draw ``status``."""
        self._status = status
        self.repaint()


class ChoiceStrip(StatusCanvas):
    """One whose spans name what the table below can be narrowed to."""

    class Chosen(Message):
        """A state, or a phase, was clicked."""

        def __init__(self, state: str) -> None:
            super().__init__()
            self.state = state

    def clicked(self, click: str, at: int) -> None:
        """In a bar or in a legend."""
        self.post_message(self.Chosen(click))
