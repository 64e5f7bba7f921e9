"""Coverage of code that is neither the application's nor Python's own: libraries that it calls.

Only a number, for users (the SpotOn paper, Table III): what is hit there for the first time saves
no input. From Python 3.12 on ``sys.monitoring`` tells each line once and is then silent. Before,
only a profile function tells anything; it slows a trial down, so every 128th is watched, and what
is counted is functions that were entered in one of those.

What was seen is kept in ``.third_party``: a JSON object a line, ``{file: [line, ...]}``, each with
what came since the one before. So it is counted once over all workers of an instance.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import fuzztui
from fuzztui.engines.execute.executor import Execution

__all__ = ["KEPT", "Functions", "Lines", "library_files", "third_party"]

KEPT: Final = ".third_party"
"""The file in the instance's directory."""

_EVERY: Final = 128
"""Of so many trials the first is watched (3.11)."""

_MOST: Final = 1_000_000
"""Places: code that is made again all the time must not fill the memory."""


class _Places:
    """What was seen, of files that count; continues from what ``kept`` has."""

    def __init__(self, counts: Callable[[str], bool], kept: Path | None) -> None:
        self._counts, self._known = counts, dict[str, bool]()
        self._kept = kept
        self.seen = _read(kept) if kept is not None else set()
        self._new: list[tuple[str, int]] = []
        """What is not in the file yet."""

    def see(self, code: CodeType, line: int) -> None:
        """A line (or a function's first one) was executed."""
        file = code.co_filename
        counts = self._known.get(file)
        if counts is None:
            counts = self._known[file] = self._counts(file)
        place = file, line
        if counts and place not in self.seen and len(self.seen) < _MOST:
            self.seen.add(place)
            self._new.append(place)

    def count(self) -> int:
        """How many there are by now; those that are new are kept. A full disk: later."""
        if self._new and self._kept is not None:
            with contextlib.suppress(OSError):
                self._keep(self._kept)
        return len(self.seen)

    def _keep(self, file: Path) -> None:
        new: dict[str, list[int]] = {}
        for name, line in self._new:
            new.setdefault(name, []).append(line)
        # Between two newlines: a line that was torn before this one does not spoil it.
        data = b"\n%s\n" % json.dumps(new).encode()
        fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.write(fd, data) == len(data):
                self._new.clear()
        finally:
            os.close(fd)


def _read(kept: Path) -> set[tuple[str, int]]:
    """What such a file has; whatever is no place is passed over."""
    seen: set[tuple[str, int]] = set()
    with contextlib.suppress(OSError), kept.open("rb") as lines:
        for line in lines:
            with contextlib.suppress(ValueError, AttributeError, TypeError, RecursionError):
                for file, numbers in json.loads(line).items():
                    seen.update((file, number) for number in numbers if type(number) is int)
    return seen


class Lines:
    """All lines, told once each by ``sys.monitoring`` (3.12 and newer)."""

    def __init__(self, counts: Callable[[str], bool], kept: Path | None = None) -> None:
        """Watches files that count, from now on."""
        self._places = _Places(counts, kept)
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
        return self._places.count()

    def clear(self) -> None:
        """An execution begins: nothing to do."""

    def finish(self, execution: Execution) -> None:
        """It has ended."""


class Functions:
    """Functions entered in every 128th trial, told by a profile function."""

    def __init__(self, counts: Callable[[str], bool], kept: Path | None = None) -> None:
        """Watches files that count, when the executor tells of trials."""
        self._places = _Places(counts, kept)
        self._trials = 0

    def count(self) -> int:
        """How many were entered so far."""
        return self._places.count()

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


def third_party(counts: Callable[[str], bool], kept: Path | None = None) -> Watch:
    """Begin to watch what can be watched in this Python; the executor must observe it.

    ``kept``: the file that has what was seen before.
    """
    return Lines(counts, kept) if sys.version_info >= (3, 12) else Functions(counts, kept)


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
