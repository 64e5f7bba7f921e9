"""Telling failures apart: one signature a cause, and words for users."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Collection
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import Final

from fuzztui.engines.inputs.shape import type_name
from fuzztui.engines.instrument.frames import Stack, is_engine

__all__ = [
    "Failure",
    "failure_of",
    "hang_of",
    "hang_text",
    "last_place",
    "printable",
    "title_of",
    "traceback_text",
]

_DETAIL_LIMIT: Final = 8000
_TRACEBACK: Final = BaseException.__dict__["__traceback__"]


@dataclass(frozen=True, slots=True)
class Failure:
    """``category`` is crash or hang; ``signature`` groups those with one cause.

    ``before``: the signature of the same cause in runs of older versions, "" if it is the same.
    """

    category: str
    signature: str
    title: str
    place: str
    before: str = field(default="", compare=False)


def traceback_of(error: BaseException) -> TracebackType | None:
    """The traceback from the target inwards, whatever the class makes of the attribute."""
    tb: TracebackType | None = _TRACEBACK.__get__(error)
    while tb is not None and is_engine(tb.tb_frame.f_code):
        tb = tb.tb_next
    return tb


def _stack(tb: TracebackType | None) -> list[tuple[CodeType, int]]:
    frames = []
    while tb is not None:
        frames.append((tb.tb_frame.f_code, tb.tb_lineno))
        tb = tb.tb_next
    return frames


def _innermost(stack: Stack, files: Collection[str]) -> tuple[CodeType, int] | None:
    """The innermost frame inside the application, else the innermost that is not ours."""
    for code, line in reversed(stack):
        if code.co_filename in files:
            return code, line
    for code, line in reversed(stack):
        if not is_engine(code):
            return code, line
    return None


def _cycle_entry(stack: Stack, files: Collection[str]) -> CodeType | None:
    """The outermost function (of the application if any) of those that fill the stack.

    Those that occur nearly as often as the most frequent one: recursion that led to
    the endless one came to an end itself.
    """
    counts: dict[int, int] = {}
    for code, _ in stack:
        counts[id(code)] = counts.get(id(code), 0) + 1
    often = max(3, max(counts.values(), default=0) // 8)
    for inside in (True, False):
        for code, _ in stack:
            if counts[id(code)] >= often and (not inside or code.co_filename in files):
                return code
    return None


def _place(code: CodeType, line: int = 0) -> str:
    name = code.co_filename.rpartition("/")[2]
    return f"{name}:{line} in {code.co_qualname}" if line else f"{name} in {code.co_qualname}"


def qualified(kind: type[BaseException]) -> str:
    """An exception class as people write it: builtins bare, others with their module."""
    return type_name(kind).removeprefix("builtins.")


def failure_of(
    error: BaseException, files: Collection[str], said: str = "", said_before: str = ""
) -> Failure:
    """Classify an exception by its type and place; runs no code of the target's.

    ``files`` are the application's. The place is the innermost frame inside it; of
    a RecursionError, where the recursion was entered (where it broke off is chance).
    ``said``: what in its message makes it a failure; a cause has one of its own.
    ``said_before``: the same as older versions had it.
    """
    name = former = qualified(type(error))
    if said:
        name, former = f"{name} saying {said!r}", f"{former} saying {said_before!r}"
    stack = _stack(traceback_of(error))
    if isinstance(error, RecursionError):
        entry = _cycle_entry(stack, files)
        if entry is not None:
            return _crash(name, _place(entry), former)
    found = _innermost(stack, files)
    return _crash(name, "" if found is None else _place(*found), former)


def _crash(name: str, place: str, former: str) -> Failure:
    before = "" if former == name else f"{former} @ {place}"
    return Failure("crash", f"{name} @ {place}", name, place, before)


def hang_of(stack: Stack, files: Collection[str]) -> Failure:
    """Classify a timeout by the function that it was in: its line is chance."""
    found = _innermost(stack, files)
    place = "" if found is None else _place(found[0])
    return Failure("hang", f"timeout @ {place}", "timeout", place)


def last_place(trace: str, files: Collection[str]) -> str:
    """Where an interpreter died, by what faulthandler wrote: ``app.py in f``; "": unknown.

    As :func:`failure_of` has it: inside the application if it was there at all.
    """
    frames = re.findall(r'File "([^"\n]*)", line \d+ in ([^\n]*)', trace)
    inside = [f for f in frames if f[0] in files]
    outside = [f for f in frames if "/fuzztui/engines/" not in f[0]]
    for file, function in [*inside, *outside][:1]:
        return f"{file.rpartition('/')[2]} in {function}"
    return ""


def title_of(error: BaseException, when: str = "") -> str:
    """``ZeroDivisionError: division by zero``, on one line. Calls the target's ``__str__``.

    ``when``: what follows the name.
    """
    name = qualified(type(error)) + when
    text = " ".join(str(error).split())
    return f"{name}: {text[:200]}" if text else name


def traceback_text(error: BaseException) -> str:
    """The traceback from the target inwards, cut in its middle. May call the target's code."""
    lines = traceback.format_exception(type(error), error, traceback_of(error))
    return _cut("".join(lines))


def hang_text(stack: Stack) -> str:
    """Where a timed-out trial was."""
    lines = ["Timeout; the most recent call is the last:\n"]
    for code, line in stack:
        lines.append(f'  File "{code.co_filename}", line {line}, in {code.co_name}\n')
        source = linecache.getline(code.co_filename, line).strip()
        if source:
            lines.append(f"    {source}\n")
    return _cut("".join(lines))


def _cut(text: str) -> str:
    half = _DETAIL_LIMIT // 2
    if len(text) <= _DETAIL_LIMIT:
        return text
    return f"{text[:half]}\n  ... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def printable(data: bytes, limit: int = 200) -> str:
    """A short form of an input on one line: control and foreign bytes escaped."""
    text = data[: limit * 4].decode("utf-8", "backslashreplace")
    out = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return out if len(out) <= limit and len(data) <= limit * 4 else out[:limit] + "..."
