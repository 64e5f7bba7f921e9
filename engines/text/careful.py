"""Parse inputs in the engine's process, although a grammar may crash or hang on hostile text.

The key of each input is written to a file before parsing. An input that has killed the parser or
exceeded the time limit twice is left out. (Once may be chance, as when the campaign is stopped.)
"""

from __future__ import annotations

import contextlib
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fuzztui.engines.text.fragments import key_of
from fuzztui.engines.text.limit import limited
from fuzztui.engines.text.syntax import Spans

_NOW: Final = ".parsing"
_NEVER: Final = ".unparsed"
_PARSE_S: Final = 10.0
"""Seconds of CPU time for one input. A parser in C cannot be interrupted, so the worker is
killed with SIGPROF."""
_STRIKES: Final = 2


class GuardedParser:
    """Calls ``parse``, except for inputs that are known to kill the parser."""

    def __init__(self, parse: Callable[[bytes], Spans], directory: Path) -> None:
        """``directory``: the instance's; an input recorded as in progress killed its worker."""
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
        """The parser's result; empty for inputs that kill the parser."""
        key = key_of(data)
        if key in self.deadly:
            return Spans()
        # Parse without a record if the disk is full or the target has closed all descriptors.
        with contextlib.suppress(OSError):
            self._now.write_text(f"{key}\n")
        try:
            with limited(_PARSE_S, signal.ITIMER_PROF, signal.SIGPROF, signal.SIG_DFL):
                return self._parse(data)
        finally:
            with contextlib.suppress(OSError):
                self._now.unlink()


def _keys(file: Path) -> list[int]:
    try:
        return [int(line) for line in file.read_text().split() if line.isdecimal()]
    except (OSError, ValueError):
        return []
