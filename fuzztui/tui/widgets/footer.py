"""The keys of the moment, from the registry; grey what cannot be done now."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.actions import ACTIONS, Action, Situation, key_name
from fuzztui.tui.host import painter
from fuzztui.tui.text import cell_len
from fuzztui.tui.widgets.canvas import Canvas, Line, Span


class Footer(Canvas):
    """One line. What does not fit is in the help; "?" always fits."""

    DEFAULT_CSS = "Footer { height: 1; background: $panel; }"

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__()
        self._scopes = scopes
        self._now = Situation()

    def show(self, now: Situation) -> None:
        """Draw the keys for the situation ``now``."""
        if now != self._now:
            self._now = now
            self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """A key was clicked: as if it was pressed."""
        painter(self).perform(click)

    def paint(self, width: int, height: int) -> list[Line]:
        """The keys, then help at the right."""
        now = self._now
        line: list[Span] = [Span(" ")]
        tail = self._key("app.help", "?", "Help", True)
        room = width - 1 - sum(cell_len(s.text) for s in tail)
        for action in actions_for(self._scopes, now):
            if action.id == "app.help":
                continue
            possible = not action.why_not(now)
            spans = self._key(action.id, key_name(action.keys[0]), action.title(now), possible)
            wide = sum(cell_len(s.text) for s in spans)
            if wide > room:
                break
            room -= wide
            line += spans
        return [[*line, Span(" " * room), *tail]]

    @staticmethod
    def _key(action: str, key: str, label: str, possible: bool) -> list[Span]:
        # Grey is not for everybody's eyes: what cannot be done is in brackets too.
        if not possible:
            return [Span(f"({key} {label}) ", "muted", action), Span(" ")]
        return [Span(f"{key} ", "bold primary", action), Span(f"{label}  ", "", action)]


def actions_for(scopes: Sequence[str], now: Situation) -> list[Action]:
    """The footer's actions in its order, without those of the other mode."""
    wanted = [
        a
        for a in ACTIONS
        if a.footer
        and a.scope in scopes
        and a.mode in ("", now.mode)
        and a.engine in ("", now.engine)
    ]
    return sorted(wanted, key=lambda a: a.footer)
