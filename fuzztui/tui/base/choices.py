"""What a user has opened or switched on on the screens, stored between two uses.

One file ``$XDG_STATE_HOME/fuzztui/opened`` with a name a line. A file that cannot be read or
written only means that nothing is remembered.
"""

from __future__ import annotations

import contextlib

from fuzztui.kernel.base.files import read_regular, real_path
from fuzztui.tui.base.remembered import state_file, write_state

FILE = "opened"
MAX_BYTES = 4096
"""Maximal bytes of the file; a longer one was not written by fuzztui."""


class ViewOptions:
    """Names that are switched on; ``stored``: in the file, else kept in memory only."""

    def __init__(self, *, stored: bool = False) -> None:
        self._stored = stored
        self._on = frozenset(_names() if stored else ())

    def __contains__(self, name: str) -> bool:
        """Whether ``name`` is switched on."""
        return name in self._on

    def set(self, name: str, on: bool) -> None:
        """Switch ``name`` on or off."""
        self._on = self._on | {name} if on else self._on - {name}

    def store(self) -> None:
        """Replace the file; an error is ignored and leaves it unchanged. Blocking."""
        with contextlib.suppress(OSError):
            if self._stored:
                write_state(FILE, "".join(f"{name}\n" for name in sorted(self._on)))


def _names() -> list[str]:
    try:
        data = read_regular(real_path(state_file(FILE)), MAX_BYTES + 1)
    except OSError:
        return []
    return [] if len(data) > MAX_BYTES else data.decode(errors="replace").split()
