"""Parse the reports of sanitizers (ASan, UBSan, MSan, TSan, LSan) in the output of a target.

The target may print anything, also forged reports: nothing here raises or takes long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fuzztui.run.triage.signature import Frame

MAX_LINE = 2000
MAX_LINES = 20_000
MAX_NAME = 200
MAX_FRAMES = 512

_HEAD = re.compile(r"(?:==\d+==\s*)?(?:ERROR|WARNING): (\w{1,30}Sanitizer): (.*)")
_UNDEFINED = re.compile(r"(?:.*?: )?runtime error: (.*)")
_SUMMARY = re.compile(r"SUMMARY: \w{1,30}Sanitizer: ")
_ACCESS = re.compile(r"(READ|WRITE) of size (\d+)")
_CAUSE = re.compile(r"The signal is caused by an? (READ|WRITE) memory access")
_FRAME = re.compile(r"\s*#(\d{1,4}) (?:0x[0-9a-f]+)?(.*)")
_MODULE = re.compile(r"(.+)\+0x([0-9a-f]{1,16})\)")
_BUILD = re.compile(r" \(BuildId: [0-9a-f]*\)\Z")
_POSITION = re.compile(r"((?::\d{1,9}){0,2})\Z")
_NUMBER = re.compile(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[-+]\d+)?")
ABORT = "ABRT"
"""The kind of a report of abort(), which ASan makes with ``handle_abort``."""
_NAMELESS = ("", "??", "<null>", "<unknown>", "(<unknown")


@dataclass(frozen=True, slots=True)
class Report:
    """A sanitizer's report. ``access``: for example "READ of size 4", an empty string if none."""

    tool: str
    kind: str
    access: str
    frames: tuple[Frame, ...]
    text: str
    """The report without its dump of shadow memory."""
    printed: str = ""
    """The output before the report."""


def parse_report(output: bytes) -> Report | None:
    """Return the first report in ``output``; None if there is none."""
    lines = [line[:MAX_LINE] for line in output.decode(errors="replace").splitlines()[:MAX_LINES]]
    for at, line in enumerate(lines):
        if head := _HEAD.match(line):
            report = _report(head[1], _kind(head[2]), lines[at:])
            return replace(report, printed="\n".join(lines[:at]))
        if head := _UNDEFINED.match(line):
            return _report("UndefinedBehaviorSanitizer", _undefined(head[1]), lines[at:])
    return None


def _report(tool: str, kind: str, lines: Sequence[str]) -> Report:
    end = next((n for n, line in enumerate(lines) if _SUMMARY.match(line)), None)
    lines = lines[: len(lines) if end is None else end + 1]
    access = ""
    for line in lines[1:12]:
        if found := _ACCESS.match(line.strip()):
            access = f"{found[1]} of size {found[2]}"
        elif found := _CAUSE.search(line):
            access = found[1]
    return Report(tool, kind, access, tuple(_first_stack(lines)), "\n".join(lines))


def _kind(text: str) -> str:
    """``attempting double-free on 0x...`` -> ``double-free``."""
    text = text.removeprefix("attempting ").strip()
    if text.startswith("free on address"):
        return "bad-free"
    if text.startswith("detected memory leaks"):
        return "memory leak"
    text = re.split(r" on\b| \(|: |, | 0x", text, maxsplit=1)[0]
    return _NUMBER.sub("N", text)[:MAX_NAME] or "error"


def _undefined(text: str) -> str:
    """``signed integer overflow: 2147483647 + 1 cannot ...`` -> ``signed integer overflow``."""
    return _NUMBER.sub("N", text.partition(":")[0]).strip()[:MAX_NAME] or "undefined behavior"


def _first_stack(lines: Sequence[str]) -> list[Frame]:
    """The stack of the error; stacks of allocations and frees come later."""
    frames: list[Frame] = []
    for line in lines:
        found = _FRAME.match(line)
        if found and (int(found[1]) or not frames) and len(frames) < MAX_FRAMES:
            frames.append(_frame(found[2]))
        elif frames:
            break
    return frames


def _frame(text: str) -> Frame:
    """Parse `` in func file:line:col``, `` in func (module+0x12) (BuildId: ab)``; TSan has both."""
    body = _BUILD.sub("", text).removeprefix(" in ").strip()
    module, offset = "", -1
    before, bracket, end = body.rpartition("(")
    if bracket and (found := _MODULE.fullmatch(end)):
        body, module, offset = before.strip(), found[1], int(found[2], 16)
    # Most paths are absolute. They may contain blanks, and so may functions ("f(int, int)").
    function, slash, path = body.partition(" /")
    if not slash:
        function, _, path = body.rpartition(" ")
    position = _POSITION.search(path)
    numbers = position[1].split(":")[1:] if position else []
    if not (slash or numbers or path in _NAMELESS):
        return Frame(_name(body), "", 0, module, offset)
    file = path[: position.start()] if position else path
    return Frame(
        _name(function),
        "" if file in _NAMELESS else slash.strip() + file,
        int(numbers[0]) if numbers else 0,
        module,
        offset,
    )


def _name(function: str) -> str:
    """The function without the argument list of C++."""
    function = function.strip()[:MAX_NAME]
    if function in _NAMELESS:
        return ""
    bare = function.removesuffix(" const")
    if bare.endswith(")") and not bare.endswith("operator()"):
        depth = 0
        for at in range(len(bare) - 1, 0, -1):
            depth += (bare[at] == ")") - (bare[at] == "(")
            if depth == 0:
                return bare[:at].strip()
    return function
