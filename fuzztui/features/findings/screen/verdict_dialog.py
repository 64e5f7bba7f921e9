"""The dialog for a verdict about a group of findings: the verdict, and a note."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from fuzztui.kernel.wire.verdicts import CHOICES, FIXED, KNOWN, MAX_NOTE, NEW, WONT_FIX, label
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.text import fit, plain

MEANINGS = {
    NEW: "no verdict: takes an earlier one back",
    KNOWN: "reported, and not fixed yet: later runs count it apart",
    FIXED: "a later run that finds it again reports a regression",
    WONT_FIX: "not to be fixed: later runs count it apart",
}

KEYS = "↑↓ choose, ⏎ saves, esc cancels"


class VerdictChoices(Canvas):
    """One line for each verdict; one is chosen."""

    DEFAULT_CSS = "VerdictChoices { width: 1fr; height: 5; }"

    def __init__(self, chosen: str) -> None:
        super().__init__()
        self.chosen = chosen

    def move(self, by: int) -> None:
        """Choose another verdict."""
        self.chosen = CHOICES[(CHOICES.index(self.chosen) + by) % len(CHOICES)]
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Choose the clicked verdict."""
        self.chosen = click
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the verdicts with their meanings."""
        return [self._line(verdict, width) for verdict in CHOICES]

    def _line(self, verdict: str, width: int) -> Line:
        here = verdict == self.chosen
        name = fit(f"{'▸' if here else ' '} {label(verdict)}", 14)
        meaning = fit(MEANINGS[verdict], max(0, width - 14))
        return [
            TextSpan(name, "bold primary" if here else "", verdict),
            TextSpan(meaning, "" if here else "muted", verdict),
        ]


class VerdictScreen(Dialog[None]):
    """Sends a verdict and a note, and closes when these are recorded; until then the note stays.

    ``lines`` name the ``groups`` that the verdict is about; they are safe to draw. ``send`` is
    called with verdict and note; the answer is given to :meth:`answered`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    VerdictScreen {
        & > Vertical { width: 80; height: auto; }
        & Static { margin-bottom: 1; max-height: 5; }
        & #problem { margin: 1 0 0 0; color: $warning; display: none; }
    }
    """

    def __init__(
        self,
        lines: Sequence[str],
        groups: int,
        verdict: str,
        note: str,
        send: Callable[[str, str], None],
    ) -> None:
        super().__init__()
        self._lines, self._groups, self._note = lines, groups, note
        self._send = send
        self._waiting = False
        self._choices = VerdictChoices(verdict)

    def compose(self) -> ComposeResult:
        """Yield the groups' titles, the verdicts and the note."""
        with Vertical() as box:
            about = "all findings with this signature"
            if self._groups > 1:
                about = f"{self._groups:,} groups of findings"
            box.border_title = f"Verdict about {about}"
            box.border_subtitle = KEYS
            yield Static("\n".join(self._lines), markup=False)
            yield self._choices
            yield Input(
                self._note,
                placeholder="note: why, or the number of an issue (may be empty)",
                select_on_focus=False,
                max_length=MAX_NOTE,
            )
            yield Static("", id="problem", markup=False)

    def on_mount(self) -> None:
        """Focus the note: its keys do not choose a verdict."""
        box = self.query_one(Input)
        box.cursor_blink = False
        self.set_focus(box)

    def action_move(self, by: int) -> None:
        """Choose another verdict."""
        if not self._waiting:
            self._choices.move(by)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        if not self._waiting:
            self._wait(True)
            self._show_problem("")
            self._send(self._choices.chosen, event.value.strip())

    def _wait(self, waiting: bool) -> None:
        self._waiting = waiting
        self.query_one(Input).disabled = waiting
        subtitle = "saving…, esc closes" if waiting else KEYS
        self.query_one(Vertical).border_subtitle = subtitle

    def _show_problem(self, problem: str) -> None:
        line = self.query_one("#problem", Static)
        line.display = bool(problem)
        line.update(plain(problem, 400))

    def answered(self, problem: str) -> bool:
        """Close the dialog, or show why the verdict was not recorded.

        Returns False if the user has closed the dialog meanwhile.
        """
        if not self.is_current:
            return False
        if not problem:
            self.dismiss()
            return True
        self._wait(False)
        self._show_problem(f"Not recorded: {problem}")
        self.set_focus(self.query_one(Input))
        return True
