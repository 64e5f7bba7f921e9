"""The menu of the mutants screen for commands about a group of mutants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from fuzztui.features.mutants.screen.groups import MutantGroup
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.action import Action
from fuzztui.tui.labels.mutants import SIGNS

WhyNot = Callable[[Action, MutantGroup], str]
"""Returns why an action is impossible for a group; an empty string if it is possible."""

COUNT = 9
"""Cells for the number of mutants."""


def _middle_cut(text: str, room: int) -> str:
    """Cut the middle of a long title, because the end distinguishes titles."""
    if cell_len(text) <= room or room < 3:
        return text
    return f"{text[: (room - 1) // 2]}…{text[len(text) - room // 2 :]}"


class ScopeMenu(Canvas):
    """The groups, of which one is chosen, and the actions for it below."""

    DEFAULT_CSS = "ScopeMenu { width: 1fr; height: auto; }"

    class Verb(Message):
        """An action was clicked."""

        def __init__(self, action_id: str) -> None:
            super().__init__()
            self.action_id = action_id

    def __init__(
        self, scopes: Sequence[MutantGroup], verbs: Sequence[Action], why_not: WhyNot
    ) -> None:
        super().__init__()
        self.scopes = scopes
        self.chosen = 0
        self._verbs = verbs
        self._why_not = why_not

    @property
    def scope(self) -> MutantGroup:
        """The chosen group."""
        return self.scopes[self.chosen]

    def get_content_height(self, *_args: object, **_options: object) -> int:
        """Return a line for each group and action, and three more."""
        return len(self.scopes) + len(self._verbs) + 3

    def clicked(self, click: str, at: int) -> None:
        """Choose the clicked group, or carry out the clicked action."""
        if click.isdecimal():
            self.move(int(click) - self.chosen)
        else:
            self.post_message(self.Verb(click))

    def move(self, by: int) -> None:
        """Choose another group."""
        self.chosen = (self.chosen + by) % len(self.scopes)
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw groups, the selection, and actions."""
        lines = [self._scope(i, width) for i in range(len(self.scopes))]
        lines += [[], [TextSpan(fit(plain(f"  {self.scope.select}"), width), "muted")], []]
        lines += [self._verb(action, width) for action in self._verbs]
        return lines

    def _scope(self, index: int, width: int) -> Line:
        scope = self.scopes[index]
        here = index == self.chosen
        states = [TextSpan("  ")]
        for sign in SIGNS.values():
            if n := scope.states[sign.state]:
                states.append(TextSpan(f"{sign.glyph}{format.count(n)} ", sign.style))
        room = width - COUNT - 3 - 24
        title = _middle_cut(plain(scope.title), room)
        return [
            TextSpan("▸ " if here else "  ", "bold primary", str(index)),
            TextSpan(fit(title, room), "bold" if here else "", str(index)),
            TextSpan(fit(format.count(scope.count), COUNT, "right"), "bold", str(index)),
            *states,
        ]

    def _verb(self, action: Action, width: int) -> Line:
        reason = self._why_not(action, self.scope)
        key = fit(next(map(key_name, action.keys), ""), 3, "right")
        if reason:
            return [TextSpan(fit(plain(f"{key}  ({action.label}: {reason})"), width), "muted")]
        head = f"  {action.label}"
        return [
            TextSpan(key, "bold primary", action.id),
            TextSpan(fit(head, 14), "", action.id),
            TextSpan(fit(action.help, max(0, width - 14 - cell_len(key))), "muted", action.id),
        ]


class ScopeScreen(Dialog[tuple[str, MutantGroup] | None]):
    """Returns the id of an action and the group; None: cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,m", "dismiss", show=False),
        Binding("down,j,tab", "move(1)", show=False),
        Binding("up,k,shift+tab", "move(-1)", show=False),
    ]
    DEFAULT_CSS = """
    ScopeScreen > Vertical { width: 92; }
    """

    def __init__(
        self, scopes: Sequence[MutantGroup], verbs: Sequence[Action], why_not: WhyNot
    ) -> None:
        super().__init__()
        self._menu = ScopeMenu(scopes, verbs, why_not)
        self._why_not = why_not
        self._verbs = {action.id: action for action in verbs}
        for action in verbs:
            for key in action.keys:
                self._bindings.bind(key, f"verb('{action.id}')", show=False)

    def compose(self) -> ComposeResult:
        """Yield the menu in a box."""
        with Vertical() as box:
            box.border_title = "Which mutants"
            box.border_subtitle = "↑↓ choose, a key acts, esc closes"
            yield self._menu

    def action_move(self, by: int) -> None:
        """Choose another group."""
        self._menu.move(by)

    def on_scope_menu_verb(self, event: ScopeMenu.Verb) -> None:
        """Carry out the clicked action."""
        self.action_verb(event.action_id)

    def action_verb(self, action_id: str) -> None:
        """Close the dialog with the action, or notify the user why it is impossible."""
        action = self._verbs[action_id]
        if reason := self._why_not(action, self._menu.scope):
            text = plain(f"{action.label}: {reason}")
            self.notify(text, severity="warning", markup=False, timeout=4)
        else:
            self.dismiss((action_id, self._menu.scope))
