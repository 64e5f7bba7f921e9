"""Parsing in the engine's own process: a grammar is foreign code that meets hostile text.

An input that kills the parser, or that it does not come to an end with, was written down before:
after the second time it is left out. (Once may be chance, as when the campaign is ended.)
"""

from __future__ import annotations

import contextlib
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from fuzztui.engines.text.fragments import key_of
from fuzztui.engines.text.syntax import Spans

__all__ = ["Careful"]

_NOW: Final = ".parsing"
_NEVER: Final = ".unparsed"
_PARSE_S: Final = 10.0
"""Of the processor's time. A parser in C cannot be interrupted: another worker continues."""
_STRIKES: Final = 2


class Careful:
    """Calls ``parse`` for inputs that are not known to be deadly to it."""

    def __init__(self, parse: Callable[[bytes], Spans], directory: Path) -> None:
        """``directory``: the instance's; what was in progress there has killed its worker."""
        self._parse = parse
        self._now, self._never = directory / _NOW, directory / _NEVER
        deaths = _keys(self._never)
        if died := _keys(self._now):
            deaths += died
            with contextlib.suppress(OSError), self._never.open("a") as file:
                file.writelines(f"{key}\n" for key in died)
        self.deadly = {key for key, times in Counter(deaths).items() if times >= _STRIKES}
        with contextlib.suppress(OSError):
            self._now.unlink()

    def spans(self, data: bytes) -> Spans:
        """What the parser says; nothing of what kills it."""
        key = key_of(data)
        if key in self.deadly:
            return Spans()
        # The target may have closed everything, or the disk be full: then without a note.
        with contextlib.suppress(OSError):
            self._now.write_text(f"{key}\n")
        try:
            with _limited():
                return self._parse(data)
        finally:
            with contextlib.suppress(OSError):
                self._now.unlink()


def _keys(file: Path) -> list[int]:
    try:
        return [int(line) for line in file.read_text().split() if line.isdigit()]
    except (OSError, ValueError):
        return []


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """SIGPROF ends the process if this takes too long: by its own time, however busy the machine.

    The target may use the signal, too.
    """
    handler = signal.signal(signal.SIGPROF, signal.SIG_DFL)
    timer = signal.setitimer(signal.ITIMER_PROF, _PARSE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *timer)
        if handler is not None:  # one of a library in C
            signal.signal(signal.SIGPROF, handler)
