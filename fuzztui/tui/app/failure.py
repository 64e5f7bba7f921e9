"""Report an unexpected error of the screens: one line for the user, the traceback in a file."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback
from importlib.metadata import version
from pathlib import Path

from textual.worker import WorkerFailed

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.text import visible
from fuzztui.tui.base.user_state import state_file

FILE = "screen-error.txt"
"""Name in the user's state directory: the latest error only, so that the file stays small."""

MAX_MESSAGE = 300
"""Maximal characters of the error's message in the line for the user."""


def report_failure(error: Exception) -> str:
    """Write the traceback of ``error`` to a file. Returns the line for the user."""
    cause = error.error if isinstance(error, WorkerFailed) else error
    said = str(cause)[:MAX_MESSAGE]
    what = f"{type(cause).__name__}: {said}" if said else type(cause).__name__
    words = [f"python {platform.python_version()}", f"textual {version('textual')}", *sys.argv]
    details = "\n".join([f"fuzztui: {' '.join(words)}", *traceback.format_exception(cause)])
    try:
        where = f"the traceback is in {_write(details.encode(errors='backslashreplace'))}"
    except OSError as e:
        where = f"the traceback could not be written: {e.strerror or e}"
    return visible(f"the screens failed; the campaign is not affected: {what}; {where}")


def _write(data: bytes) -> Path:
    """Raises :class:`OSError` if neither the state nor the temporary directory is writable."""
    try:
        file = state_file(FILE)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_bytes(file, data)
    except OSError:
        with tempfile.NamedTemporaryFile(prefix="fuzztui-error-", delete=False) as stream:
            stream.write(data)
        return Path(stream.name)
    return file
