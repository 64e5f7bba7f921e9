"""The dialogs of the Findings screen: which frames count for a signature; a verdict and a note."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from fuzztui.kernel.model.groups import Regrouping, under
from fuzztui.kernel.model.state import Finding
from fuzztui.kernel.wire.frames import (
    OWN,
    Rules,
    StackFrame,
    counting,
    parse_basis,
    parse_frames,
    rule_problem,
    skipping_rule,
)
from fuzztui.kernel.wire.verdicts import CHOICES, FIXED, KNOWN, MAX_NOTE, NEW, WONT_FIX, label
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.text import fit, plain

MOST_ROWS = 14
"""Lines with frames at most; more are scrolled."""

OTHER_LINES = 9
"""Lines of the box that contain no frame: border, padding, texts."""

NARROW = 50
"""Cells below which the box has shorter texts."""

IN_PROCESS = "engines save one input for each signature: further ones may follow"

_STATE = 9
"""Cells of the word for the state of a frame."""


class FrameList(Canvas):
    """One line for each frame, innermost first; ``rules`` are those that the user has now."""

    DEFAULT_CSS = "FrameList { width: 1fr; height: auto; }"

    def __init__(self, finding: Finding, rules: Rules, toggled: Callable[[], None]) -> None:
        """``toggled`` is called when the rules have changed."""
        super().__init__()
        self.finding, self.rules = finding, rules
        self.frames = parse_frames(finding.frames)
        self._toggled = toggled
        counted = self._counted()
        self.at = self.frames.index(counted[0]) if counted else 0
        """The frame under the cursor."""
        self._top = 0

    def _counted(self) -> list[StackFrame]:
        basis = parse_basis(self.finding.basis)
        return [] if basis is None else counting(self.frames, basis, self.rules)

    def get_content_height(self, *_args: object, **_options: object) -> int:
        """Return a line for each frame, as far as they fit on the screen."""
        return max(2, min(len(self.frames), MOST_ROWS, self.app.size.height - OTHER_LINES))

    def move(self, by: int) -> None:
        """Move the cursor."""
        self.at = min(max(self.at + by, 0), len(self.frames) - 1)
        self.repaint()

    def toggle(self, *, file: bool = False) -> None:
        """Skip the frame under the cursor, or count it again. ``file``: all frames of its file."""
        frame = self.frames[self.at]
        rule = frame.rule
        if file and frame.file:
            rule = f"{rule.partition(' in ')[0]} in *"
        if rule in self.rules:
            rules = tuple(known for known in self.rules if known != rule)
        elif not file and skipping_rule(frame, self.rules):
            rules = tuple(known for known in self.rules if not skipping_rule(frame, (known,)))
        elif problem := rule_problem(rule):
            text = plain(f"No rule is possible: {problem}")
            self.notify(text, severity="warning", timeout=4)
            return
        else:
            rules = (*self.rules, rule)
        self.rules = rules
        self._toggled()
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Choose the clicked frame; toggle it if it was chosen already."""
        if self.at == int(click):
            self.toggle()
        else:
            self.at = int(click)
            self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the frames around the cursor."""
        self._top = min(self._top, self.at, max(0, len(self.frames) - height))
        self._top = max(self._top, self.at - height + 1)
        counted = self._counted()
        return [
            self._line(n, frame, counted, width)
            for n, frame in enumerate(self.frames[self._top : self._top + height], self._top)
        ]

    def _line(self, n: int, frame: StackFrame, counted: Sequence[StackFrame], width: int) -> Line:
        rule = skipping_rule(frame, self.rules)
        gives = frame in counted
        word = "signature" if gives else "skipped" if rule else "counts"
        style = "bold primary" if gives else "hang" if rule else ""
        if not gives and not rule and frame.kind != OWN:
            word, style = frame.kind, "muted"
        here = n == self.at
        by = f"  by {rule}" if rule and rule != frame.rule else ""
        if rule and gives:
            by = "  every frame is skipped: the rules do not hold"
        room = max(0, width - 2 - _STATE - 1)
        text = "bold" if here else "muted" if rule or frame.kind != OWN else ""
        return [
            TextSpan("▸ " if here else "  ", "bold primary", str(n)),
            TextSpan(fit(word, _STATE + 1), style, str(n)),
            TextSpan(fit(plain(frame.place + by), room), text, str(n)),
        ]


class Consequence(Canvas):
    """The signature under the rules, and what they do to the groups."""

    DEFAULT_CSS = "Consequence { width: 1fr; height: 3; margin-top: 1; }"

    def __init__(self, note: str) -> None:
        super().__init__()
        self._note = note
        self.signature = self.text = ""

    def show(self, signature: str, text: str) -> None:
        """Show another signature and text."""
        self.signature, self.text = signature, text
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the signature and the text."""
        head = "signature  " if width >= NARROW else ""
        room = max(0, width - len(head))
        return [
            [TextSpan(head, "muted"), TextSpan(fit(plain(self.signature), room), "bold")],
            [TextSpan(fit(self.text, width))],
            [TextSpan(fit(self._note, width), "muted")],
        ]


class FramesScreen(Dialog[tuple[list[str], list[str]] | None]):
    """Returns the rules to add and those to remove; None after escape, or if nothing changed.

    :param preview: returns what rules do to all groups; called in a thread.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("enter", "save", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown", "move(10)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("space", "skip(False)", show=False),
        Binding("f", "skip(True)", show=False),
    ]
    DEFAULT_CSS = "FramesScreen { & > Vertical { width: 84; height: auto; } }"

    def __init__(
        self, finding: Finding, rules: Rules, preview: Callable[[Rules], Regrouping]
    ) -> None:
        super().__init__()
        self._before, self._preview = rules, preview
        self._frames = FrameList(finding, rules, self._toggled)
        basis = parse_basis(finding.basis)
        in_process = basis is not None and not basis.depth
        self._consequence = Consequence(IN_PROCESS if in_process else "")

    def compose(self) -> ComposeResult:
        """Yield the frames, and what follows from them."""
        with Vertical() as box:
            box.border_title = "Which frames count"
            narrow = self.app.size.width < NARROW
            keys = "space toggles, f all of its file, ⏎ saves, esc cancels"
            box.border_subtitle = "space or f, ⏎ saves, esc" if narrow else keys
            yield self._frames
            yield self._consequence

    def on_mount(self) -> None:
        """Show the present signature."""
        self._toggled()

    def _toggled(self) -> None:
        rules = self._frames.rules
        signature = under(self._frames.finding, rules).signature
        same = set(rules) == set(self._before)
        self._consequence.show(signature, "the groups stay as they are" if same else "…")
        if not same:
            self.run_worker(self._count(rules, signature), group="preview", exclusive=True)

    async def _count(self, rules: Rules, signature: str) -> None:
        found = await in_thread(lambda: self._preview(rules))
        if self._frames.rules == rules:
            self._consequence.show(signature, found.text)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._frames.move(by)

    def action_skip(self, file: bool) -> None:
        """Skip the frame under the cursor, or its file, or count it again."""
        self._frames.toggle(file=file)

    def action_save(self) -> None:
        """Close the dialog with the difference."""
        now = self._frames.rules
        added = [rule for rule in now if rule not in self._before]
        removed = [rule for rule in self._before if rule not in now]
        self.dismiss((added, removed) if added or removed else None)


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
        self.focus_input()

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
