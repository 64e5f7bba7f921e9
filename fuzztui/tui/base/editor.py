"""The user's editor: $VISUAL or $EDITOR, in place of the screen until it ends."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import temporary_directory

DEFAULTS: Final = ("sensible-editor", "nano", "vi")
"""Editors that are tried without a variable, in this order."""

_COLON: Final = ("hx", "helix")
"""Editors that take ``FILE:LINE``; others take ``+LINE FILE``."""
_GO_TO: Final = ("code", "codium", "cursor")
"""Editors that take ``--goto FILE:LINE``, and with ``--wait`` end when the file is closed."""


class NoEditor(Exception):
    """There is no editor, or it cannot be started; the message is for the user."""


def editor_command(env: Mapping[str, str], path: Path, line: int = 0) -> list[str]:
    """Return the command line that opens ``path``, at ``line`` if it is not 0.

    ``path`` must be absolute, so that no file name is taken for an option. Raises
    :class:`NoEditor`.
    """
    chosen = env.get("VISUAL") or env.get("EDITOR") or ""
    try:
        words = shlex.split(chosen)
    except ValueError as e:
        raise NoEditor(f"$EDITOR={chosen} cannot be split into words: {e}") from None
    if not words:
        found = next((name for name in DEFAULTS if shutil.which(name)), "")
        if not found:
            raise NoEditor("there is no editor: set $EDITOR")
        words = [found]
    name = Path(words[0]).name
    if name in _GO_TO:
        return [*words, "--wait", "--goto", f"{path}:{max(1, line)}"]
    if line <= 0:
        return [*words, str(path)]
    return [*words, f"{path}:{line}"] if name in _COLON else [*words, f"+{line}", str(path)]


def edit_file(
    screen: AbstractContextManager[None], env: Mapping[str, str], path: Path, line: int = 0
) -> None:
    """Open a file, at a line. Blocks until the editor ends. ``screen``: gives the terminal free.

    Raises :class:`NoEditor`.
    """
    command = editor_command(env, path, line)
    with screen:
        try:
            status = subprocess.run(command, check=False).returncode
        except OSError as e:
            raise NoEditor(f"{command[0]}: {e.strerror or e}") from None
    if status in (126, 127):
        raise NoEditor(f"{shlex.join(command)}: exit status {status}")


def edit_copy(
    screen: AbstractContextManager[None], env: Mapping[str, str], name: str, data: bytes
) -> None:
    """Open a copy of an input, so that no file of the campaign can be changed by mistake.

    ``name``: of the copy, untrusted. Raises :class:`NoEditor`.
    """
    safe = "".join(c if c.isascii() and (c.isalnum() or c in ".-_") else "_" for c in name)
    with temporary_directory() as directory:
        copy = Path(directory) / (safe.lstrip(".-")[-100:] or "input")
        try:
            copy.write_bytes(data)
        except OSError as e:
            raise NoEditor(f"{copy}: {e.strerror or e}") from None
        edit_file(screen, env, copy)
