"""Coverage of code that is neither the application's nor Python's own: libraries that it calls.

Only a number, for people (the SpotOn paper, Table III): what is hit there for the first time saves
no input. From Python 3.12 on ``sys.monitoring`` tells each line once and is then silent. Before,
only a profile function tells anything; it slows a trial down, so every 128th is watched, and what
is counted is functions that were entered in one of those.
"""

from __future__ import annotations

import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import fuzztui
from fuzztui.engines.core.executor import Execution

__all__ = ["Functions", "Lines", "library_files", "third_party"]

_EVERY: Final = 128
"""Of so many trials the first is watched (3.11)."""

_MOST: Final = 1_000_000
"""Places: code that is made anew all the time must not fill the memory."""


class _Places:
    """What was seen, of files that count."""

    def __init__(self, counts: Callable[[str], bool]) -> None:
        self._counts, self._known = counts, dict[str, bool]()
        self.seen: set[tuple[str, int]] = set()

    def see(self, code: CodeType, line: int) -> None:
        """A line (or a function's first one) was executed."""
        file = code.co_filename
        counts = self._known.get(file)
        if counts is None:
            counts = self._known[file] = self._counts(file)
        if counts and len(self.seen) < _MOST:
            self.seen.add((file, line))


class Lines:
    """All lines, told once each by ``sys.monitoring`` (3.12 and newer)."""

    def __init__(self, counts: Callable[[str], bool]) -> None:
        """Watches files that count, from now on."""
        self._places = _Places(counts)
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            tool = monitoring.COVERAGE_ID
            monitoring.use_tool_id(tool, "fuzztui")
            see, silent = self._places.see, monitoring.DISABLE

            def line(code: CodeType, number: int) -> Any:
                see(code, number)
                return silent

            monitoring.register_callback(tool, monitoring.events.LINE, line)
            monitoring.set_events(tool, monitoring.events.LINE)

    def count(self) -> int:
        """How many were executed so far."""
        return len(self._places.seen)

    def clear(self) -> None:
        """An execution begins: nothing to do."""

    def finish(self, execution: Execution) -> None:
        """It has ended."""


class Functions:
    """Functions entered in every 128th trial, told by a profile function."""

    def __init__(self, counts: Callable[[str], bool]) -> None:
        """Watches files that count, when the executor tells of trials."""
        self._places = _Places(counts)
        self._trials = 0

    def count(self) -> int:
        """How many were entered so far."""
        return len(self._places.seen)

    def clear(self) -> None:
        """An execution begins; is it one that is watched?"""
        if self._trials % _EVERY == 0:
            sys.setprofile(self._event)
        self._trials += 1

    def finish(self, execution: Execution) -> None:
        """It has ended."""
        sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._places.see(frame.f_code, frame.f_code.co_firstlineno)


Watch: TypeAlias = Lines | Functions


def third_party(counts: Callable[[str], bool]) -> Watch:
    """Begin to watch what can be watched in this Python; the executor must observe it."""
    return Lines(counts) if sys.version_info >= (3, 12) else Functions(counts)


def library_files(
    application: Callable[[], Iterable[str]], functions: Iterable[Callable[..., Any] | None]
) -> Callable[[str], bool]:
    """Is a file a library's?

    ``application``: the files of its modules by now. ``functions`` are the user's (the target, its
    generator): where they are written is no library either.
    """
    codes = (getattr(inspect.unwrap(f), "__code__", None) for f in functions if f is not None)
    users = {code.co_filename for code in codes if code is not None}
    package = Path(fuzztui.__file__).parent
    # The engines may be a symlink in it; whatever ran there first decides how it is called.
    ours = tuple(f"{p}/" for p in (package, package.resolve(), Path(__file__).resolve().parents[1]))
    hypothesis = getattr(sys.modules.get("hypothesis"), "__file__", None)
    if hypothesis is not None:  # it makes the inputs, as our generators do
        ours = (*ours, f"{Path(hypothesis).parent}/")
    python = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))

    def is_library(file: str) -> bool:
        installed = "/site-packages/" in file or "/dist-packages/" in file
        return not (
            file.startswith(("<", *ours))
            or (file.startswith(python) and not installed)
            or file in users
            or file in application()
        )

    return is_library
