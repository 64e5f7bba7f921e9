"""Escape sequences by which a terminal, also one at the other end of SSH, alerts its user.

The bell; and a desktop notification by OSC 9 (iTerm2, kitty, WezTerm, Ghostty, Windows Terminal)
or OSC 777 (rxvt, foot, VTE). A terminal that knows neither ignores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BELL: Final = "\a"
MAX_TEXT: Final = 200

_OF_777: Final = ("rxvt", "foot")
"""Beginnings of TERM of terminals that know OSC 777 only."""


def alert_sequence(
    title: str, text: str, env: Mapping[str, str], *, bell: bool = True, desktop: bool = True
) -> str:
    """Return the bell and, where the terminal is likely to know one, a desktop notification.

    ``title`` and ``text``: printable characters, see :func:`fuzztui.tui.base.text.plain`. ``env``:
    the environment of the process. In tmux the notification is passed on to the outer terminal,
    if tmux's ``allow-passthrough`` is on; the bell always is. ``bell``, ``desktop``: what the user
    wants of the two.
    """
    ring = BELL if bell else ""
    term = env.get("TERM", "")
    if not desktop or term in ("", "dumb", "linux"):  # the console would print the text
        return ring
    # A semicolon separates the parameters of OSC 777, and numbers before one are commands of OSC 9.
    title, text = (part.replace(";", ",")[:MAX_TEXT] for part in (title, text))
    if term.startswith(_OF_777) or "VTE_VERSION" in env:
        notification = f"\x1b]777;notify;{title};{text}\a"
    else:
        notification = f"\x1b]9;{title}: {text}\a"
    if env.get("TMUX"):
        notification = "\x1bPtmux;" + notification.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return ring + notification
