"""The scopes of all screens, to find keys that clash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzztui.tui.frame.actions import HOME_SCREENS


def screen_scopes() -> Iterator[Sequence[str]]:
    """Yield the scopes of each screen.

    The campaign's screens are imported only when the iterator is used: 0.2 s of CPU time, which a
    user without own keys does not wait for at the home screen.
    """
    from fuzztui.tui.app.app import FuzzApp

    yield from HOME_SCREENS
    for screen in FuzzApp.MODES.values():
        yield screen.scopes()
