"""Third-party coverage: lines of libraries that are neither the application nor Python itself.

Only a number for users (the SpotOn paper, Table III): new lines there do not save an input. From
Python 3.12 on, ``sys.monitoring`` reports each line once. Before 3.12, a profile function reports
entered functions; it is slow, so only every 128th trial is observed.

The lines are kept in ``.third_party``, so that all workers of an instance count each line once. The
file has a JSON object in each line, ``{file: [line, ...]}``, with the lines that were new then.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import fuzztui
from fuzztui.engines.execute.executor import Execution, Observer
from fuzztui.kernel.wire.frames import is_generated, is_installed

KEPT: Final = ".third_party"
"""The file in the instance directory."""

_EVERY: Final = 128
"""One of this many trials is observed (Python 3.11)."""

_MAX_LINES: Final = 1_000_000
"""Most lines to keep: code that is generated all the time must not fill the memory."""


class Watch(Observer):
    """Executed lines of files for which ``counts`` is true; starts with those in ``kept``."""

    def __init__(self, counts: Callable[[str], bool], kept: Path | None = None) -> None:
        self._counts, self._known = counts, dict[str, bool]()
        self._kept = kept
        self.seen = _read(kept) if kept is not None else set()
        self._new: list[tuple[str, int]] = []
        """Lines that are not in the file yet."""

    def see(self, code: CodeType, line: int) -> None:
        """Record an executed line, or the first line of a function."""
        file = code.co_filename
        counts = self._known.get(file)
        if counts is None:
            counts = self._known[file] = self._counts(file)
        key = file, line
        if counts and key not in self.seen and len(self.seen) < _MAX_LINES:
            self.seen.add(key)
            self._new.append(key)

    def count(self) -> int:
        """Number of lines. Also writes new lines to the file; if this fails, at a later call."""
        if self._new and self._kept is not None:
            with contextlib.suppress(OSError):
                self._keep(self._kept)
        return len(self.seen)

    def _keep(self, file: Path) -> None:
        new: dict[str, list[int]] = {}
        for name, line in self._new:
            new.setdefault(name, []).append(line)
        # Between two newlines, so that an earlier torn line does not damage this one.
        data = b"\n%s\n" % json.dumps(new).encode()
        fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.write(fd, data) == len(data):
                self._new.clear()
        finally:
            os.close(fd)


def _read(kept: Path) -> set[tuple[str, int]]:
    """Read the lines in the file; invalid entries are skipped."""
    seen: set[tuple[str, int]] = set()
    with contextlib.suppress(OSError), kept.open("rb") as lines:
        for line in lines:
            with contextlib.suppress(ValueError, AttributeError, TypeError, RecursionError):
                for file, numbers in json.loads(line).items():
                    seen.update((file, number) for number in numbers if type(number) is int)
    return seen


class Lines(Watch):
    """Observes all lines, by ``sys.monitoring`` (Python 3.12 and newer)."""

    def __init__(self, counts: Callable[[str], bool], kept: Path | None = None) -> None:
        """Observe files that count, from now on."""
        super().__init__(counts, kept)
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            tool = monitoring.COVERAGE_ID
            monitoring.use_tool_id(tool, "fuzztui")
            see, silent = self.see, monitoring.DISABLE

            def line(code: CodeType, number: int) -> Any:
                see(code, number)
                return silent

            monitoring.register_callback(tool, monitoring.events.LINE, line)
            monitoring.set_events(tool, monitoring.events.LINE)


class Functions(Watch):
    """Observes functions that are entered in every 128th trial, by a profile function."""

    def __init__(self, counts: Callable[[str], bool], kept: Path | None = None) -> None:
        """Observe files that count, when the executor calls :meth:`clear`."""
        super().__init__(counts, kept)
        self._trials = 0

    def clear(self) -> None:
        """Start observing, if this trial is observed."""
        if self._trials % _EVERY == 0:
            sys.setprofile(self._event)
        self._trials += 1

    def finish(self, execution: Execution) -> None:
        """Stop observing."""
        sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self.see(frame.f_code, frame.f_code.co_firstlineno)


def third_party(counts: Callable[[str], bool], kept: Path | None = None) -> Watch:
    """The observer for this version of Python, which the executor must use.

    ``kept``: the file with the lines of earlier workers.
    """
    return Lines(counts, kept) if sys.version_info >= (3, 12) else Functions(counts, kept)


@cache
def _python() -> tuple[str, ...]:
    """The directories of the standard library; asking for them takes an import of its own."""
    return tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))


def is_standard_library(file: str) -> bool:
    """Whether a file belongs to the standard library of this Python."""
    return file.startswith(_python()) and not is_installed(file)


def library_files(
    application: Callable[[], Iterable[str]], functions: Iterable[Callable[..., Any] | None]
) -> Callable[[str], bool]:
    """A function that returns whether a file belongs to a library.

    ``application`` returns the present files of the application. ``functions``: functions of the
    user (target, generator), whose files are not libraries either.
    """
    codes = (getattr(inspect.unwrap(f), "__code__", None) for f in functions if f is not None)
    users = {code.co_filename for code in codes if code is not None}
    package = Path(fuzztui.__file__).parent
    # The engines may be a symlink in the package: code objects may have either path.
    ours = tuple(f"{p}/" for p in (package, package.resolve(), Path(__file__).resolve().parents[1]))
    hypothesis = getattr(sys.modules.get("hypothesis"), "__file__", None)
    if hypothesis is not None:  # Hypothesis makes inputs, as fuzztui's generators do
        ours = (*ours, f"{Path(hypothesis).parent}/")

    def is_library(file: str) -> bool:
        return not (
            is_generated(file)
            or file.startswith(ours)
            or is_standard_library(file)
            or file in users
            or file in application()
        )

    return is_library
