"""Parsing in the engine's own process: a grammar is foreign code that meets hostile text.

An input that kills the parser, or that it does not come to an end with, does so once: it was
written down before, and the next worker leaves it out.
"""

from __future__ import annotations

import contextlib
import faulthandler
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fuzztui.engines.text.fragments import key_of
from fuzztui.engines.text.syntax import Spans

__all__ = ["Careful"]

_NOW: Final = ".parsing"
_NEVER: Final = ".unparsed"
_SECONDS: Final = 10.0
"""A parser in C cannot be interrupted: the worker ends, and another one goes on."""
_STDERR: Final = 2
"""Wherever that leads: ``target.log``, or nowhere."""


class Careful:
    """Calls ``parse`` for inputs that are not known to be deadly to it."""

    def __init__(self, parse: Callable[[bytes], Spans], directory: Path) -> None:
        """``directory``: the instance's; what was under way there has killed its worker."""
        self._parse = parse
        self._now, self._never = directory / _NOW, directory / _NEVER
        self.deadly = _keys(self._never)
        if found := _keys(self._now) - self.deadly:
            self.deadly |= found
            with contextlib.suppress(OSError), self._never.open("a") as file:
                file.writelines(f"{key}\n" for key in sorted(found))
        with contextlib.suppress(OSError):
            self._now.unlink()

    def spans(self, data: bytes) -> Spans:
        """What the parser says; nothing of what has killed it."""
        key = key_of(data)
        if key in self.deadly:
            return Spans()
        # The target may have closed everything, or the disk be full: then without a note.
        with contextlib.suppress(OSError):
            self._now.write_text(f"{key}\n")
        faulthandler.dump_traceback_later(_SECONDS, exit=True, file=_STDERR)
        try:
            return self._parse(data)
        finally:
            faulthandler.cancel_dump_traceback_later()
            with contextlib.suppress(OSError):
                self._now.unlink()


def _keys(file: Path) -> set[int]:
    try:
        return {int(line) for line in file.read_text().split() if line.isdigit()}
    except (OSError, ValueError):
        return set()
