"""The help screen: all keys, and the reasons why keys are grey. From the registry."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.action_context import Action, ActionContext, why_not_steer
from fuzztui.tui.frame.actions import ACTIONS, GROUPS
from fuzztui.tui.frame.box import BoxScreen

KEYS = 12
LABEL = 17

PLACES = {
    "overview": "on the Overview",
    "fuzzing": "on the Overview and in the Corpus",
    "listing": "on all screens with details",
}
"""Where the actions of a scope are available, if not on the screen that their group names."""


TERMS = (
    ("probes left", "Cells of the coverage map that trials still record; the others are covered,"
     " and trials run code without their probes"),
    ("comparisons", "Inputs into which an operand of the target's comparisons was put; v in the"
     " Corpus lists them by place"),
    ("no difference", "Survivors that inputs executed with another value, and the result was the"
     " same: look at these first"),
    ("not run yet", "Survivors that an input infected, and static ones; the exact pass runs them"),
    ("not infected", "Survivors that inputs reached; the expression always had the same value"),
    ("not reached", "Survivors whose expression no input has executed"),
    ("nearest", "The entry that came nearest to killing a survivor"),
    ("exact pass", "Runs every survivor on every entry that infects it; has a budget of its own,"
     " engine.exact_budget"),
    ("…", "In a table's title or in the footer: a wider terminal shows more"),
)  # fmt: skip
"""Terms on the screens that need more than their label."""


_GENERAL = ("app", "table", "sorting", "listing")
"""Scopes of actions that are not of one screen."""


class HelpScreen(BoxScreen):
    """A scrolling list: keys and columns of this screen, then all other keys, and terms."""

    TITLE_OF_BOX = "Help"

    def __init__(
        self, now: ActionContext, scopes: Sequence[str], columns: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__()
        self._now = now
        self._scopes = scopes
        self._columns = columns

    def lines(self) -> list[Line]:
        """Return :func:`help_lines` of the current context."""
        return help_lines(self._now, self._scopes, self._columns)


def help_lines(
    now: ActionContext, scopes: Sequence[str], columns: Sequence[tuple[str, str]] = ()
) -> list[Line]:
    """Return this screen's actions and columns, then all other actions by group.

    ``columns``: titles and meanings. Actions that do not work on this screen are muted.
    """
    there = [a for a in ACTIONS if a.mode in ("", now.mode)]
    own = [a for a in there if a.scope in scopes and a.scope not in _GENERAL]
    lines: list[Line] = _section("This screen", own, now, scopes)
    if columns:
        lines += [[], [TextSpan("Columns", "bold primary")]]
        lines += [_term(title, text) for title, text in columns]
    for group in GROUPS:
        actions = [a for a in there if a.group == group and a not in own]
        if actions:
            lines += [[], *_section(group, actions, now, scopes)]
    lines += [[], [TextSpan("Terms", "bold primary")]]
    return lines + [_term(term, text) for term, text in TERMS]


def _term(term: str, text: str) -> Line:
    return [TextSpan(fit(plain(term), KEYS + 2, "right") + "  ", "bold"), TextSpan(text)]


def _section(
    title: str, actions: Sequence[Action], now: ActionContext, scopes: Sequence[str]
) -> list[Line]:
    lines: list[Line] = [[TextSpan(title, "bold primary")]]
    for action in actions:
        here = action.scope in scopes
        keys = " ".join(key_name(k) for k in action.keys)
        style = "" if here else "muted"
        lines.append(
            [
                TextSpan(fit(keys, KEYS, "right") + "  ", "bold" if here else "muted"),
                TextSpan(fit(action.title(now), LABEL), style),
                TextSpan(action.help, style),
            ]
        )
        if reason := action.why_not(now) if here else _elsewhere(action, now):
            lines.append(
                [TextSpan(" " * (KEYS + 2 + LABEL)), TextSpan(f"({plain(reason)})", "pending")]
            )
    return lines


def _elsewhere(action: Action, now: ActionContext) -> str:
    """Why an action of other screens is grey: no steering at all, or another screen is needed."""
    return (why_not_steer(now) if action.mode == "live" else "") or PLACES.get(action.scope, "")
