"""What is stored of a user between two uses of the screens: the theme, what is opened, last looks.

Files in ``$XDG_STATE_HOME/fuzztui``. State rather than configuration, because a program writes
them, and programs must never change configuration files of users. A file that cannot be read or
written only means that nothing is remembered.
"""

from __future__ import annotations

import contextlib
import json
import stat
from collections.abc import Container
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import real, whole
from fuzztui.kernel.base.files import read_json, read_regular, real_path
from fuzztui.kernel.base.user_dirs import state_dir

_THEME, _OPENED, _LOOKS = "theme", "opened", "looks"
"""Files: a line with the theme that the user chose last, and one with the theme that the user's
configuration file named then, because a later change of that file overrides the choice; a name a
line of what is switched on; and a JSON object, from the path of a run to a :data:`Look`."""

MAX_BYTES = 256
"""Maximal bytes of a theme's name, which is a file name."""

MAX_OPENED = 4096
"""Maximal bytes of the names of what is switched on; more were not written by fuzztui."""

MAX_RUNS: Final = 200
"""Runs that are remembered; those looked at the longest ago are forgotten."""


def state_file(name: str) -> Path:
    """Return the path of a file of the user's state. Raises :class:`OSError` without a home."""
    return state_dir() / name


def write_state(name: str, text: str) -> None:
    """Replace a file of the user's state. Raises :class:`OSError`."""
    file = state_file(name)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_text(file, text)


# ------------------------------------------------------------------ the theme


def recall(themes: Container[str], configured: str = "") -> tuple[str, str]:
    """Return the name of the stored theme, and a message for the user.

    ``themes``: known names. ``configured``: the theme that the configuration file names. The name
    is empty if no theme was stored, or if the configuration file has changed to another theme since
    the user's choice; also if the stored theme cannot be used, and only then there is a message.
    """
    try:
        file = state_file(_THEME)
        # Opening a FIFO would block: check the type first.
        if not stat.S_ISREG(file.stat().st_mode):
            return "", f"{file}: is not a regular file; remove it"
        with file.open("rb") as stream:
            data = stream.read(2 * MAX_BYTES + 1)
    except FileNotFoundError:
        return "", ""
    except OSError as e:
        return "", f"{e.filename}: cannot be read: {e.strerror}" if e.filename else ""
    try:
        name, _, then = data.decode().removesuffix("\n").partition("\n")
    except UnicodeDecodeError:
        name = then = ""
    if configured and configured != then:
        return "", ""
    if name in themes:
        return name, ""
    if not name or len(data) > 2 * MAX_BYTES or not name.isprintable():
        return "", f"{file}: contains no valid name of a theme; press T to choose one"
    return "", f"{file}: the theme {name!r} does not exist any more; press T to choose another"


def remember(name: str, configured: str = "") -> None:
    """Store the name of a theme; an error is ignored and leaves the file unchanged.

    ``configured``: the theme that the configuration file names now.
    """
    with contextlib.suppress(OSError):
        write_state(_THEME, f"{name}\n{configured}\n" if configured else f"{name}\n")


# ------------------------------------------------------------- what is opened


class ViewOptions:
    """Names that are switched on. ``stored``: read from and written to a file, not memory only."""

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
                write_state(_OPENED, "".join(f"{name}\n" for name in sorted(self._on)))


def _names() -> list[str]:
    try:
        data = read_regular(real_path(state_file(_OPENED)), MAX_OPENED + 1)
    except OSError:
        return []
    return [] if len(data) > MAX_OPENED else data.decode(errors="replace").split()


# ----------------------------------------------------------------- last looks


Look = tuple[float, int]
"""Unix time of the campaign's start, which distinguishes two runs in the same directory, and the
number of the last record of which the user has seen the findings."""

NO_LOOK: Final[Look] = (0.0, 0)


def last_look(run: Path) -> Look:
    """Return the last look at the findings of ``run``; ``NO_LOOK`` if none is stored."""
    return _sound(_looks().get(str(run.absolute())))


def remember_look(run: Path, look: Look) -> None:
    """Store a look; an error is ignored and leaves the file unchanged."""
    key = str(run.absolute())
    with contextlib.suppress(OSError, ValueError):
        looks = {name: list(_sound(old)) for name, old in _looks().items() if name != key}
        looks[key] = list(look)
        newest = list(looks.items())[-MAX_RUNS:]
        write_state(_LOOKS, json.dumps(dict(newest), allow_nan=False) + "\n")


def _looks() -> dict[str, Any]:
    try:
        return read_json(state_file(_LOOKS)) or {}
    except OSError:
        return {}


def _sound(look: Any) -> Look:
    match look:
        case [start, seq] if real(start) >= 0 and whole(seq) >= 0:
            return float(start), seq
        case _:
            return NO_LOOK
