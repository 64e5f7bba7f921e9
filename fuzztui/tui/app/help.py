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


class HelpScreen(BoxScreen):
    """A scrolling list of all keys."""

    TITLE_OF_BOX = "Keys"

    def __init__(self, now: ActionContext, scopes: Sequence[str]) -> None:
        super().__init__()
        self._now = now
        self._scopes = scopes

    def lines(self) -> list[Line]:
        """Return :func:`help_lines` of the current context."""
        return help_lines(self._now, self._scopes)


def help_lines(now: ActionContext, scopes: Sequence[str]) -> list[Line]:
    """Return all actions by group: bright if they work on the current screen, else muted."""
    lines: list[Line] = []
    for group in GROUPS:
        actions = [a for a in ACTIONS if a.group == group and a.mode in ("", now.mode)]
        if not actions:
            continue
        lines += (
            [[], [TextSpan(group, "bold primary")]]
            if lines
            else [[TextSpan(group, "bold primary")]]
        )
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
    lines += [[], [TextSpan("Terms", "bold primary")]]
    for term, text in TERMS:
        lines.append([TextSpan(fit(term, KEYS + 2, "right") + "  ", "bold"), TextSpan(text)])
    return lines


def _elsewhere(action: Action, now: ActionContext) -> str:
    """Why an action of other screens is grey: no steering at all, or another screen is needed."""
    return (why_not_steer(now) if action.mode == "live" else "") or PLACES.get(action.scope, "")
