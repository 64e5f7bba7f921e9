"""The report of a finding: which frames of its stack are the program's own. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from fuzztui.kernel.wire.frames import is_python_library
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain_lines

_PYTHON = re.compile(r'  File "(?P<file>[^"\n]+)", line (?P<line>\d{1,7}), in (?P<function>.*)')
_NATIVE = re.compile(
    r"\s*#\d+\s+(?:0x[0-9a-f]+\s+)?(?:in\s+)?(?P<function>\S.*?)\s+(?:at\s+)?"
    r"(?P<file>[^\s():]+):(?P<line>\d{1,7})(?::\d+)?\s*"
)
_NATIVE_START = re.compile(r"\s*#\d+\s")
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d{1,7})(?: in .*)?", re.DOTALL)

_LIBRARIES = (
    "<", "/usr/lib", "/usr/include", "/sysdeps/", "../csu/", "compiler-rt", "llvm-project",
)  # fmt: skip
"""Parts of the paths of files that belong to an interpreter, a C library or a sanitizer."""

_MAX_LINE = 1000
"""Characters of a line in which a frame is searched: a target can print anything."""


@dataclass(frozen=True, slots=True)
class ReportFrame:
    """One frame of a stack. ``at``: the number of its line in the report, from 0.

    ``code``: the code of its line, if the report contains the code.
    """

    at: int
    file: str
    line: int
    code: str = ""


def frames_of(report: str) -> list[ReportFrame]:
    """Return the frames with a file, in the order of the report."""
    return [frame for frame in _frames(report.split("\n")) if frame.file]


def crash_frame(report: str, place: str) -> ReportFrame | None:
    """Return the frame at ``place`` (``file.py:12 in func``); None if the report has none."""
    return _at(frames_of(report), place)


def _at(frames: Iterable[ReportFrame], place: str) -> ReportFrame | None:
    match = _PLACE.fullmatch(place)
    if match is None:
        return None
    file, line = PurePath(match["file"]), int(match["line"])
    found = [f for f in frames if f.line == line and _ends_with(f.file, file)]
    return found[-1] if found and found[-1].code else found[0] if found else None


def report_lines(report: str, place: str, style: str) -> list[Line]:
    """Return the report; frames of the application are bright, others and addresses dim.

    Frames of the application are those in the directory of the frame at ``place``. ``style``: the
    style of the error's message.
    """
    texts = report.split("\n")
    frames = {frame.at: frame for frame in _frames(texts)}
    crash = _at((frame for frame in frames.values() if frame.file), place)
    home = str(PurePath(crash.file).parent) if crash is not None else ""
    out: list[Line] = []
    inside = ""
    for n, text in enumerate(texts):
        frame = frames.get(n)
        if frame is not None:
            own = _is_own(frame.file, home)
            inside = "" if own else "muted"
            shown = "bold" if own else "muted"
            if crash is not None and n == crash.at:
                shown = f"bold {style}"
        elif text.startswith("    "):  # the frame's code, and the marks below
            shown = inside
        else:
            inside = ""
            shown = f"bold {style}" if _is_message(text) else ""
        out += [[TextSpan(line, shown)] for line in plain_lines(text, 1)]
    return out


def _frames(texts: list[str]) -> Iterator[ReportFrame]:
    for n, text in enumerate(text[:_MAX_LINE] for text in texts):
        if match := _PYTHON.fullmatch(text):
            below = texts[n + 1] if n + 1 < len(texts) else ""
            code = below.strip() if below.startswith("    ") else ""
            yield ReportFrame(n, match["file"], int(match["line"]), code)
        elif match := _NATIVE.fullmatch(text):
            yield ReportFrame(n, match["file"], int(match["line"]))
        elif _NATIVE_START.match(text):
            yield ReportFrame(n, "", 0)


def _ends_with(path: str, end: PurePath) -> bool:
    return PurePath(path).parts[-len(end.parts) :] == end.parts


def _is_own(file: str, home: str) -> bool:
    """``home``: the directory of the application; an empty string: unknown."""
    if is_python_library(home):
        return file.startswith(home)
    return bool(file) and not _has(file, _LIBRARIES) and not is_python_library(file)


def _has(path: str, parts: tuple[str, ...]) -> bool:
    return any(part in path for part in parts)


def _is_message(text: str) -> bool:
    """Whether the line contains the error's message: ``KeyError: 'a'``, ``==1==ERROR: ...``."""
    return bool(re.match(r"[\w.]+(?:Error|Exception|Warning|Interrupt|Exit)\b", text)) or (
        "ERROR: " in text[:40]
    )
