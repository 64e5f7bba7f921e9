"""The command palette's entries: the actions of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from fuzztui.tui.base.dialogs import LEAVES
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.actions import ACTIONS
from fuzztui.tui.frame.host import host

KEY = 5
"""Cells for the name of a key."""

PICTURES = {".svg": "Picture: Save this screen as SVG", ".png": "Picture: Save this screen as PNG"}
"""Commands without a key, which the registry lacks: by the ending of the file."""

MARGIN = 6
"""Cells of the palette that rows do not have: its padding and the scrollbar."""


class ActionPalette(CommandPalette):
    """Textual's palette, with the keys of all dialogs."""

    BINDINGS: ClassVar[list[BindingType]] = [LEAVES]


class ActionProvider(Provider):
    """Offers the actions of the screen below the palette, with key, or the reason against them."""

    async def discover(self) -> Hits:
        """Yield all actions, while nothing is typed yet."""
        for action, text in self._offers():
            yield DiscoveryHit(self._row(action, text), self._run(action), text)

    async def search(self, query: str) -> Hits:
        """Yield the actions that match ``query``."""
        matcher = self.matcher(query)
        for action, text in self._offers():
            score, letters = matcher.fuzzy_search.match(query, text)
            if score > 0:
                yield Hit(score, self._row(action, text, letters), self._run(action), text)

    def _offers(self) -> Iterator[tuple[Action | Callable[[], object], str]]:
        """The actions of the screen below; without a key: commands about the run, pictures."""
        scopes = host(self.app).scopes()
        now = host(self.app).action_context()
        for action in ACTIONS:
            # Moves in a table are left out: no user types their names.
            moving = action.group == "Tables" and not action.place(now)
            if action.scope in scopes and action.mode in ("", now.mode) and not moving:
                yield action, f"{action.title(now)}: {action.help}"
        yield from host(self.app).run_offers()
        for suffix, text in PICTURES.items():
            yield partial(host(self.app).save_picture, suffix), text

    def _row(
        self, action: Action | Callable[[], object], text: str, letters: Sequence[int] = ()
    ) -> Text:
        """One line: the key and the action, or why it is impossible now."""
        if not isinstance(action, Action):
            return self._line("", text, letters)
        now = host(self.app).action_context()
        if reason := action.why_not(now):
            text = action.title(now)
        return self._line(action.key_label(now), text, letters, reason)

    def _line(self, key: str, text: str, letters: Sequence[int] = (), reason: str = "") -> Text:
        """One row, cut to the palette; ``letters`` of ``text`` match what the user has typed."""
        palette = host(self.app).palette
        row = Text()
        row.append(fit(key, KEY, "right") + "  ", palette["muted" if reason else "bold primary"])
        start = len(row)
        row.append(text, palette["muted"] if reason else "")
        for at in letters:
            if at < len(text):
                row.stylize("underline", start + at, start + at + 1)
        if reason:
            row.append(f"  ({plain(reason)})", palette["pending"])
        row.truncate(max(KEY + 10, self.app.size.width - MARGIN), overflow="ellipsis")
        return row

    def _run(self, action: Action | Callable[[], object]) -> Callable[[], object]:
        return partial(host(self.app).perform, action.id) if isinstance(action, Action) else action
