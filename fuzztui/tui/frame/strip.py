"""Canvases that draw the campaign's status, and a clickable kind of them."""

from __future__ import annotations

from textual.message import Message

from fuzztui.tui.base.canvas import Canvas
from fuzztui.tui.labels.status import Status


class StatusCanvas(Canvas):
    """A canvas that draws ``self._status``, the status of the last :meth:`show`."""

    def __init__(self) -> None:
        super().__init__()
        self._status = Status()

    def show(self, status: Status) -> None:
        """Draw ``status``."""
        self._status = status
        self.repaint()


class ChoiceStrip(StatusCanvas):
    """A strip whose spans are filters of the table below."""

    class Chosen(Message):
        """A span with a state or a phase was clicked."""

        def __init__(self, state: str) -> None:
            super().__init__()
            self.state = state

    def clicked(self, click: str, at: int) -> None:
        """Post :class:`Chosen`."""
        self.post_message(self.Chosen(click))
