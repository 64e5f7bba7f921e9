"""The keys of the moment, from the registry; grey what cannot be done now."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.base.painter import painter
from fuzztui.tui.base.text import cell_len
from fuzztui.tui.frame.actions import ACTIONS, BY_ID, Action, ActionContext

ALWAYS = ("app.quit", "app.help")


class Footer(Canvas):
    """One line. What does not fit is in the help; the way out and "?" always fit."""

    DEFAULT_CSS = "Footer { height: 1; background: $panel; }"

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__()
        self._scopes = scopes
        self._now = ActionContext()

    def show(self, now: ActionContext) -> None:
        """Draw the keys for the situation ``now``."""
        if now != self._now:
            self._now = now
            self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """A key was clicked: as if it was pressed."""
        painter(self).perform(click)

    def paint(self, width: int, height: int) -> list[Line]:
        """The keys, then those of :data:`ALWAYS` at the right."""
        now = self._now
        line: list[TextSpan] = [TextSpan(" ")]
        tail = [s for id in ALWAYS for s in self._spans(BY_ID[id], now)]
        room = width - 1 - sum(cell_len(s.text) for s in tail)
        for _, pair in groupby(actions_for(self._scopes, now), _place):
            spans = [s for a in pair if a.id not in ALWAYS for s in self._spans(a, now)]
            wide = sum(cell_len(s.text) for s in spans)
            if wide > room:
                break
            room -= wide
            line += spans
        return [[*line, TextSpan(" " * room), *tail]]

    @staticmethod
    def _spans(action: Action, now: ActionContext) -> list[TextSpan]:
        key, label = key_name(action.keys[0]), action.title(now)
        # Grey is not for everybody's eyes: what cannot be done is in brackets too.
        if action.why_not(now):
            return [TextSpan(f"({key} {label}) ", "muted", action.id), TextSpan(" ")]
        return [
            TextSpan(f"{key} ", "bold primary", action.id),
            TextSpan(f"{label}  ", "", action.id),
        ]


def _place(action: Action) -> tuple[int, str]:
    """Less and more of one thing have the same: no footer ends between them."""
    return action.footer, action.needs or action.id


def actions_for(scopes: Sequence[str], now: ActionContext) -> list[Action]:
    """The footer's actions in its order, without those of the other mode or table."""
    wanted = [
        a
        for a in ACTIONS
        if a.footer
        and a.scope in scopes
        and a.mode in ("", now.mode)
        and a.engine in ("", now.engine)
        and a.queue in (None, bool(now.stage))
        and not a.elsewhere(now)
    ]
    return sorted(wanted, key=lambda a: a.footer)
