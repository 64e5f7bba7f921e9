"""The theme that the user chose last, kept from one screen to the next.

One line in ``$XDG_STATE_HOME/fuzztui/theme``. State and not configuration: a program writes this
file, and must never touch what users write themselves.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Container
from pathlib import Path

from fuzztui.base.atomic import replace_text

MAX_BYTES = 256
"""No theme has a longer name: it is the name of a file."""


def state_file(name: str) -> Path:
    """Where a file of the user's state is kept. Raises :class:`OSError` if there is no home."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if state.is_absolute():  # the specification says to ignore others
        return state / "fuzztui" / name
    try:
        return Path.home() / ".local" / "state" / "fuzztui" / name
    except RuntimeError as e:
        raise OSError(str(e)) from None


def recall(themes: Container[str]) -> tuple[str, str]:
    """The name of the theme that was chosen last, and a message for the user.

    ``themes``: the names that are known. The name is "" if no theme was chosen, or if the file
    is broken; the message then describes the fault, and is "" otherwise.
    """
    try:
        file = state_file("theme")
        # A FIFO would block for ever: look before opening.
        if not stat.S_ISREG(file.stat().st_mode):
            return "", f"{file}: is not a regular file; remove it"
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return "", ""
    except OSError as e:
        return "", f"{e.filename}: cannot be read: {e.strerror}" if e.filename else ""
    try:
        name = data.decode().removesuffix("\n")
    except UnicodeDecodeError:
        name = ""
    if name in themes:
        return name, ""
    if not name or len(data) > MAX_BYTES or not name.isprintable():
        return "", f"{file}: does not hold the name of a theme; choose one with T"
    return "", f"{file}: there is no theme {name!r} any more; choose another with T"


def remember(name: str) -> None:
    """Keep the name of a theme; an error is ignored, and the file then stays as it is."""
    with contextlib.suppress(OSError):
        file = state_file("theme")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_text(file, f"{name}\n")
