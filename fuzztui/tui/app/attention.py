"""What a user has not seen yet, what to announce now, and how a terminal alerts its user.

By the bell, and by a desktop notification, also over SSH: OSC 9 (iTerm2, kitty, WezTerm, Ghostty,
Windows Terminal) or OSC 777 (rxvt, foot, VTE). A terminal that knows neither ignores them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fuzztui.kernel.model.new_groups import groups_after, target_groups, unreported, waits
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire.finding_kinds import kind_of
from fuzztui.kernel.wire.verdicts import REGRESSION
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.user_state import NO_LOOK, Look
from fuzztui.tui.labels.details import finding_title

BELL: Final = "\a"
MAX_TEXT: Final = 200

_OF_777: Final = ("rxvt", "foot")
"""Beginnings of TERM of terminals that know OSC 777 only."""


def alert_sequence(
    title: str, text: str, env: Mapping[str, str], *, bell: bool = True, desktop: bool = True
) -> str:
    """Return the bell and, where the terminal is likely to know one, a desktop notification.

    ``title`` and ``text``: printable characters, see :func:`fuzztui.tui.base.text.plain`. ``env``:
    the environment of the process. tmux passes the bell on to the outer terminal, and the
    notification if its ``allow-passthrough`` is on. ``bell``, ``desktop``: which of the two the
    user wants.
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


class Attention:
    """What one user of one screen has seen. Times are campaign times in seconds."""

    def __init__(self) -> None:
        self.last_look: Look = NO_LOOK
        """The user's last look at the Findings screen."""
        self._announced: set[str] = set()
        self._rules: list[str] = []
        self.waiting = False
        """Whether findings without a description are left, which are announced after some time."""

    def skip(self, state: State) -> None:
        """Announce nothing of what ``state`` contains already."""
        self._announced.update(keys[0] for keys in target_groups(state))
        self._rules = list(state.skipped_frames)

    def news(self, state: State, now: float) -> list[Finding]:
        """Return the first finding of each group that was not announced; each only once.

        After a change of the rules about frames, the groups that exist then are not announced.
        """
        if state.skipped_frames != self._rules:
            self.skip(state)
        candidates = unreported(state, self._announced)
        found = [f for f in candidates if not waits(f, now)]
        self._announced.update(f.key for f in found)
        self.waiting = len(found) < len(candidates)
        return found

    def unseen(self, state: State) -> int:
        """Return the number of groups that are new since the last look."""
        start, seq = self.last_look
        return groups_after(state, seq if start == state.started_wall else 0)

    def look(self, state: State) -> bool:
        """Note that the user looks at the findings. Returns whether any was new."""
        new = self.unseen(state) > 0
        if new or self.last_look == NO_LOOK:
            self.last_look = state.started_wall, state.seq
        return new


def announcement(found: Sequence[Finding], state: State) -> tuple[str, str]:
    """Return the title and text that announce ``found`` (not empty), both safe to draw."""
    first = found[0]
    kind = kind_of(first.category)
    if len(found) > 1:
        alike = all(kind_of(f.category) is kind for f in found)
        title = f"{len(found):,} new {kind.plural if alike else 'findings'}"
    elif verdict_of(state, first.signature) == REGRESSION:
        title = "Regression"
    else:
        title = f"New {kind.noun}"
    place = f" at {first.place}" if first.place else ""
    return title, plain(finding_title(first) + place, MAX_TEXT)
