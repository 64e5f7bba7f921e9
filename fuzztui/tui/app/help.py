"""The help screen: all keys, and the reasons why keys are grey. From the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import ActionContext, HomeContext, why_not_steer, with_keys
from fuzztui.tui.frame.actions import ACTIONS, GROUPS, HOME, HOME_SCREENS
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.frame.host import host

KEYS = 12
LABEL = 17

PLACES = {
    "overview": "on the Overview",
    "fuzzing": "on the Overview and in the Corpus",
    "listing": "on all screens with details",
    "runs": "in the table of runs",
    "beside": "with runs side by side",
}
"""Where the actions of a scope are available, if not on the screen that their group names."""


TERMS = (
    ("probes left", "Cells of the coverage map that trials still record; the others are covered,"
     " and trials run code without their probes"),
    ("receipt", "What came since a command was applied: in the details after since, in the events"
     " and the Log after done"),
    ("comparisons", "Inputs into which an operand of the target's comparisons was put;"
     " {corpus.yields:v} in the Corpus lists them by place"),
    ("no difference", "Survivors that inputs executed with another value, and the result was the"
     " same: look at these first"),
    ("still to run", "Survivors that an input infected, and static ones; the exact pass runs them"),
    ("never infected", "Survivors that inputs reached; the expression always had the same value"),
    ("never reached", "Survivors whose expression no input has executed"),
    ("nearest", "The entry that came nearest to killing a survivor"),
    ("exact pass", "Runs every survivor on every entry that infects it; has a budget of its own,"
     " engine.exact_budget"),
    ("…", "In a table's title or in the footer: a wider terminal shows more"),
)  # fmt: skip
"""Terms on the screens that need more than their label."""


_GENERAL = ("always", "app", "table", "sorting", "listing")
"""Scopes of actions that are not of one screen."""


Entry = Sequence[Line]
"""The lines of one action, column or term."""

Section = tuple[str, Sequence[Entry]]
"""A title and the entries below it."""


class HelpScreen(BoxScreen):
    """A scrolling list: keys and columns of this screen, then all other keys, and terms.

    ``/`` opens a search, which shows only entries with all its words.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", show=False),
        Binding("H", "tour", show=False),
    ]

    def __init__(
        self, now: ActionContext, scopes: Sequence[str], columns: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__("Help", self.lines)
        self._now = now
        self._sections = help_sections(now, scopes, columns)
        self._words = ""

    def compose(self) -> ComposeResult:
        """Yield the search and the pane in a box."""
        with Vertical() as box:
            box.border_title = self._title
            tour = "" if isinstance(self._now.about, HomeContext) else "H is a tour, "
            box.border_subtitle = f"/ searches, {tour}esc closes"
            yield FilterBar("a key, an action, a column, a term", self._back)
            yield DetailPane()

    def lines(self) -> list[Line]:
        """Return the entries that the search finds."""
        return flat(found(self._sections, self._words))

    def action_search(self) -> None:
        """Open the search."""
        self.query_one(FilterBar).open()

    def action_tour(self) -> None:
        """Start the tour instead; Home has none."""
        self.dismiss()
        host(self).perform("app.tour")

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        """Show what the search finds."""
        self._words = event.text
        shown = sum(len(entries) for _, entries in found(self._sections, self._words))
        every = sum(len(entries) for _, entries in self._sections)
        self.query_one(FilterBar).count(shown, every)
        self.query_one(DetailPane).show(self.lines(), top=True)

    def _back(self) -> None:
        self.set_focus(self.query_one(DetailPane))


def help_sections(
    now: ActionContext, scopes: Sequence[str], columns: Sequence[tuple[str, str]] = ()
) -> list[Section]:
    """Return this screen's actions and columns, then all other actions by group, then terms.

    ``columns``: titles and meanings. Actions that do not work on this screen are muted. Actions
    of the home screen are listed only there, those of a campaign only on its screens.
    """
    there = [a for a in ACTIONS if a.mode in ("", now.mode) and _near(a, now, scopes)]
    own = [a for a in there if a.scope in scopes and a.scope not in _GENERAL]
    sections: list[Section] = [("This screen", [_entry(a, now, scopes) for a in own])]
    sections.append(("Columns and words", [_term(title, text) for title, text in columns]))
    for group in GROUPS:
        actions = [a for a in there if a.group == group and a not in own]
        sections.append((group, [_entry(a, now, scopes) for a in actions]))
    terms = [_term(term, with_keys(text, now)) for term, text in TERMS]
    sections.append(("Terms", terms[-1:] if isinstance(now.about, HomeContext) else terms))
    return [(title, entries) for title, entries in sections if entries]


def found(sections: Sequence[Section], words: str) -> list[Section]:
    """Return the entries with all of ``words``, in their text or their section's title."""
    wanted = words.casefold().split()
    narrowed = [
        (title, [e for e in entries if _has(title, e, wanted)]) for title, entries in sections
    ]
    return [(title, entries) for title, entries in narrowed if entries]


def flat(sections: Sequence[Section]) -> list[Line]:
    """Return the lines of sections, with their titles and blank lines between them."""
    lines: list[Line] = []
    for title, entries in sections:
        lines += [[], [TextSpan(title, "bold primary")], *(line for e in entries for line in e)]
    return lines[1:] or [[TextSpan("Nothing in the help has these words.", "muted")]]


def _has(title: str, entry: Entry, wanted: Sequence[str]) -> bool:
    text = " ".join((title, *(span.text for line in entry for span in line))).casefold()
    return all(word in text for word in wanted)


def _term(term: str, text: str) -> Entry:
    return [[TextSpan(fit(plain(term), KEYS + 2, "right") + "  ", "bold"), TextSpan(text)]]


def _entry(action: Action, now: ActionContext, scopes: Sequence[str]) -> Entry:
    here = action.scope in scopes
    keys = " ".join(key_name(k) for k in action.keys_now(now))
    style = "" if here else "muted"
    lines: list[Line] = [
        [
            TextSpan(fit(keys, KEYS, "right") + "  ", "bold" if here else "muted"),
            TextSpan(fit(action.title(now), LABEL), style),
            TextSpan(action.help, style),
        ]
    ]
    if reason := action.why_not(now) if here else _elsewhere(action, now):
        blank = TextSpan(" " * (KEYS + 2 + LABEL))
        lines.append([blank, TextSpan(f"({plain(reason)})", "pending")])
    return lines


def _near(action: Action, now: ActionContext, scopes: Sequence[str]) -> bool:
    """Whether the action is of the application that is running: home screen or campaign."""
    homes = {scope for screen in HOME_SCREENS for scope in screen}
    if isinstance(now.about, HomeContext):
        return action.scope in homes
    return action.scope in scopes or action not in HOME


def _elsewhere(action: Action, now: ActionContext) -> str:
    """Why an action of other screens is grey: no steering at all, or another screen is needed."""
    return (why_not_steer(now) if action.mode == "live" else "") or PLACES.get(action.scope, "")
