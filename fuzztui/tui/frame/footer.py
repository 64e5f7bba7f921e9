"""The line of keys, from the registry; impossible actions are grey."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.cells import cell_len

from fuzztui.kernel.model.selectors import ENDED
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, painter, width_of
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.actions import ACTIONS, BY_ID

ALWAYS = ("app.quit", "app.help")

MORE = "…"
"""The sign of keys that have no room; the help shows them."""


class Footer(Canvas):
    """The keys of the current screen in one line; ``app.quit`` and ``app.help`` always fit."""

    DEFAULT_CSS = "Footer { height: 1; background: $panel; }"

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__()
        self._scopes = scopes
        self._now = ActionContext()

    def show(self, now: ActionContext, scopes: Sequence[str] = ()) -> None:
        """Draw the keys for the context ``now``, and for other ``scopes`` from now on."""
        scopes = scopes or self._scopes
        if (now, scopes) != (self._now, self._scopes):
            self._now, self._scopes = now, scopes
            self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Carry out the clicked action."""
        painter(self).perform(click)

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the keys, then the keys of :data:`ALWAYS` at the right end."""
        now = self._now
        line: list[TextSpan] = [TextSpan(" ")]
        tail = [s for id in ALWAYS for s in self._spans(BY_ID[id], now)]
        room = width - 1 - sum(cell_len(s.text) for s in tail)
        more = False
        for _, pair in groupby(actions_for(self._scopes, now), _place):
            spans = [s for a in pair if a.id not in ALWAYS for s in self._spans(a, now)]
            wide = width_of(spans)
            more = wide > room
            if more:
                break
            room -= wide
            line += spans
        if more and len(line) > 1:
            # In the blanks after the last key: no key is left out for the sign.
            blanks = room
            while line[-1].text.endswith(" "):
                blanks += 1
                line[-1] = line[-1]._replace(text=line[-1].text[:-1])
                if not line[-1].text:
                    line.pop()
            start = min(2, max(0, blanks - 2))
            line += [TextSpan(" " * start), TextSpan(MORE, "muted", "app.help")]
            room = blanks - start - len(MORE)
        return [[*line, TextSpan(" " * room), *tail]]

    @staticmethod
    def _spans(action: Action, now: ActionContext) -> list[TextSpan]:
        key, label = action.key_label(now), action.title(now)
        # Not every user can see grey: an impossible action is in brackets too.
        if action.why_not(now):
            return [TextSpan(f"({key} {label}) ", "muted", action.id), TextSpan(" ")]
        return [
            TextSpan(f"{key} ", "bold primary", action.id),
            TextSpan(f"{label}  ", "", action.id),
        ]


def _place(action: Action) -> tuple[int, str]:
    """A key that is equal for actions that are shown together or not at all, as less and more."""
    return action.footer, action.needs or action.id


def actions_for(scopes: Sequence[str], now: ActionContext) -> list[Action]:
    """Return the footer's actions in order, without actions of another mode or table,
    or that the user has left without a key.

    After the end of a campaign, commands that only a running one executes are left out: the help
    shows why they are impossible.
    """
    wanted = [
        a
        for a in ACTIONS
        if a.place(now)
        and a.keys_now(now)
        and a.scope in scopes
        and a.mode in ("", now.mode)
        and a.engine in ("", now.engine)
        and a.queue in (None, bool(now.stage))
        and (now.hosts or not a.hosts)
        and not a.elsewhere(now)
        and not (a.ended and now.state not in ENDED)
        and not (now.state in ENDED and a.mode == "live" and a.why_not(now))
    ]
    return sorted(wanted, key=lambda a: a.place(now))
