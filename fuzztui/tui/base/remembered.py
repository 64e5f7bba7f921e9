"""The theme that the user chose last, stored between two uses of the screens.

One line in ``$XDG_STATE_HOME/fuzztui/theme``, and in a second one the theme that the user's
configuration file named then: a later change of that file overrides the choice. State rather than
configuration, because a program writes this file, and programs must never change configuration
files of users.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Container
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.user_dirs import state_dir

MAX_BYTES = 256
"""Maximal length of a theme's name, which is a file name."""


def state_file(name: str) -> Path:
    """Return the path of a file of the user's state. Raises :class:`OSError` without a home."""
    return state_dir() / name


def write_state(name: str, text: str) -> None:
    """Replace a file of the user's state. Raises :class:`OSError`."""
    file = state_file(name)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_text(file, text)


def recall(themes: Container[str], configured: str = "") -> tuple[str, str]:
    """Return the name of the stored theme, and a message for the user.

    ``themes``: known names. ``configured``: what the configuration file names. The name is empty if
    none was stored, or if that file names another theme since the choice. It is also empty if the
    stored one is broken; then the message describes the fault, otherwise the message is empty.
    """
    try:
        file = state_file("theme")
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
        write_state("theme", f"{name}\n{configured}\n" if configured else f"{name}\n")
