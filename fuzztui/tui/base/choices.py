"""What a user has opened or switched on on the screens, stored between two uses.

One file ``$XDG_STATE_HOME/fuzztui/opened`` with a name a line. A file that cannot be read or
written only means that nothing is remembered.
"""

from __future__ import annotations

import contextlib
import stat

from fuzztui.tui.base.remembered import state_file, write_state

FILE = "opened"
MAX_BYTES = 4096
"""Maximal bytes of the file; a longer one was not written by fuzztui."""


class ViewOptions:
    """Names that are switched on. Kept in memory only; see :class:`StoredOptions`."""

    def __init__(self) -> None:
        self._on: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        """Whether ``name`` is switched on."""
        return name in self._on

    def set(self, name: str, on: bool) -> None:
        """Switch ``name`` on or off."""
        self._on = self._on | {name} if on else self._on - {name}

    def store(self) -> None:
        """Store the choices. Blocking."""


class StoredOptions(ViewOptions):
    """Options in a file of the user's state."""

    def __init__(self) -> None:
        super().__init__()
        self._on = frozenset(_stored())

    def store(self) -> None:
        """Replace the file; an error is ignored and leaves it unchanged."""
        with contextlib.suppress(OSError):
            write_state(FILE, "".join(f"{name}\n" for name in sorted(self._on)))


def _stored() -> list[str]:
    try:
        file = state_file(FILE)
        # Opening a FIFO would block: check the type first.
        if not stat.S_ISREG(file.stat().st_mode):
            return []
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError:
        return []
    return [] if len(data) > MAX_BYTES else data.decode(errors="replace").split()
