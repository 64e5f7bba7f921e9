"""The command palette's entries: the actions of the registry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen

from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.frame.action_context import Action
from fuzztui.tui.frame.actions import ACTIONS
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.screen import CampaignScreen


class ActionProvider(Provider):
    """Offers the actions of the screen below the palette, with key, or the reason against them."""

    async def discover(self) -> Hits:
        """Yield all actions, while nothing is typed yet."""
        for action, text in self._offers():
            yield DiscoveryHit(text, self._run(action), help=self._help(action))

    async def search(self, query: str) -> Hits:
        """Yield the actions that match ``query``."""
        matcher = self.matcher(query)
        for action, text in self._offers():
            score = matcher.match(text)
            if score > 0:
                run = self._run(action)
                yield Hit(score, matcher.highlight(text), run, help=self._help(action))

    def _offers(self) -> Iterator[tuple[Action, str]]:
        screen: Screen[object] = self.screen
        scopes = screen.scopes() if isinstance(screen, CampaignScreen) else ("app",)
        now = host(self.app).action_context()
        for action in ACTIONS:
            # Nobody moves through a table by typing names.
            moving = action.group == "Tables" and not action.footer
            if action.scope in scopes and action.mode in ("", now.mode) and not moving:
                yield action, f"{action.title(now)}: {action.help}"

    def _help(self, action: Action) -> str:
        reason = action.why_not(host(self.app).action_context())
        return f"not now: {reason}" if reason else key_name(action.keys[0])

    def _run(self, action: Action) -> partial[None]:
        return partial(host(self.app).perform, action.id)
