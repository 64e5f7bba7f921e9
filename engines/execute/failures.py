"""Failures: their signatures, which group findings, and their texts for users."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import Final

from fuzztui.engines.inputs.shape import type_name
from fuzztui.engines.instrument.guard import Stack, is_engine
from fuzztui.kernel.wire.finding_kinds import CRASH, HANG
from fuzztui.kernel.wire.frames import (
    HARNESS,
    LIBRARY,
    OWN,
    Basis,
    Rules,
    StackFrame,
    counting,
    is_generated,
    is_python_library,
)

COMPILED: Final = "Compiled code"
"""What ``instrument/sancov.c`` writes before the place of a crash."""
_DETAIL_LIMIT: Final = 8000
_TRACEBACK: Final = BaseException.__dict__["__traceback__"]


@dataclass(frozen=True, slots=True)
class Failure:
    """What kind of failure an execution is. ``category``: of
    :mod:`fuzztui.kernel.wire.finding_kinds`.

    ``signature`` is equal for failures with the same presumed cause. ``before``: its form in older
    versions; empty if unchanged.
    """

    category: str
    signature: str
    title: str
    place: str
    before: str = field(default="", compare=False)


def traceback_of(error: BaseException) -> TracebackType | None:
    """The traceback without the engine's outer frames; runs no code of the exception's class."""
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


def stack_frames(stack: Stack, files: Collection[str], *, lines: bool = True) -> list[StackFrame]:
    """Return the frames of a stack outside the engine, innermost first.

    ``files``: those of the application. ``lines``: whether frames have line numbers, which then go
    into signatures; those of a timeout are random.
    """
    frames = []
    for code, line in reversed(stack):
        file = code.co_filename
        if file in files or not is_engine(code):
            kind = OWN if file in files else LIBRARY if _is_library(file) else HARNESS
            frames.append(StackFrame(code.co_qualname, file, line if lines else 0, kind))
    return frames


def _is_library(file: str) -> bool:
    return is_generated(file) or is_python_library(file)


def frames_of_error(error: BaseException, files: Collection[str]) -> list[StackFrame]:
    """Return the frames that can give the signature of an exception, innermost first.

    For an endless recursion: its functions, outermost first. Runs no target code.
    """
    stack = _stack(traceback_of(error))
    if isinstance(error, RecursionError) and (cycle := _cycle(stack)):
        return stack_frames([(code, 0) for code in reversed(cycle)], files)
    return stack_frames(stack, files)


def _counted(frames: Sequence[StackFrame], name: str, rules: Rules) -> str:
    """The place of the frame that counts under rules; an empty string if there is none."""
    return next((frame.place for frame in counting(frames, Basis(name), rules)), "")


def _innermost(stack: Stack, files: Collection[str]) -> tuple[CodeType, int] | None:
    """The innermost frame in ``files``, else the innermost outside the engine, else None.

    Generated code comes last.
    """
    for code, line in reversed(stack):
        if code.co_filename in files:
            return code, line
    others = [(code, line) for code, line in reversed(stack) if not is_engine(code)]
    of_files = (place for place in others if not is_generated(place[0].co_filename))
    return next(of_files, others[0] if others else None)


def _cycle_entry(stack: Stack, files: Collection[str]) -> CodeType | None:
    """The outermost function of an endless recursion, preferably one in ``files``; None if none."""
    cycle = _cycle(stack)
    of_files = [c for c in cycle if not is_generated(c.co_filename)] or cycle
    return next((c for c in cycle if c.co_filename in files), of_files[0] if cycle else None)


def _cycle(stack: Stack) -> list[CodeType]:
    """The functions of an endless recursion, outermost first.

    Only functions that occur at least 1/8 as often as the most frequent one are considered,
    because other recursion may have led to the endless one.
    """
    counts: dict[int, int] = {}
    for code, _ in stack:
        counts[id(code)] = counts.get(id(code), 0) + 1
    often = max(3, max(counts.values(), default=0) // 8)
    return list({id(code): code for code, _ in stack if counts[id(code)] >= often}.values())


def _place(code: CodeType, line: int = 0) -> str:
    return StackFrame(code.co_qualname, code.co_filename, line).place


def qualified(kind: type[BaseException]) -> str:
    """The name of an exception class; with its module unless builtin."""
    return type_name(kind).removeprefix("builtins.")


def failure_of(
    error: BaseException,
    files: Collection[str],
    matched: str = "",
    matched_before: str = "",
    rules: Rules = (),
) -> Failure:
    """Classify an exception by its type and location. Runs no target code.

    ``files``: those of the application. The location is the innermost frame in them; of a
    RecursionError, the entry of the recursion, because its end is random. ``matched``: the part of
    the message that the message oracle matched, which goes into the signature. ``matched_before``:
    its form in older versions. ``rules``: about frames that do not count.
    """
    name = former = qualified(type(error))
    if matched:
        name, former = f"{name} saying {matched!r}", f"{former} saying {matched_before!r}"
    if rules:
        return _crash(name, _counted(frames_of_error(error, files), name, rules), former)
    stack = _stack(traceback_of(error))
    if isinstance(error, RecursionError):
        entry = _cycle_entry(stack, files)
        if entry is not None:
            return _crash(name, _place(entry), former)
    found = _innermost(stack, files)
    return _crash(name, "" if found is None else _place(*found), former)


def _crash(name: str, place: str, former: str) -> Failure:
    before = "" if former == name else f"{former} @ {place}"
    return Failure(CRASH.category, f"{name} @ {place}", name, place, before)


def hang_of(lasting: Stack, stack: Stack, files: Collection[str], rules: Rules = ()) -> Failure:
    """Classify a timeout by the function that ran all the time, without the line, which is random.

    ``lasting``: the outer part of ``stack`` in which the trial was all the time. Older versions
    used the innermost function, so that one slow loop had several signatures. ``rules``: about
    frames that do not count.
    """
    if rules:
        place = _counted(stack_frames(lasting, files, lines=False), "timeout", rules)
        return Failure(HANG.category, f"timeout @ {place}", "timeout", place)
    place, before = (
        "" if found is None else _place(found[0])
        for found in (_innermost(lasting, files), _innermost(stack, files))
    )
    former = f"timeout @ {before}" if before != place else ""
    return Failure(HANG.category, f"timeout @ {place}", "timeout", place, former)


def last_place(trace: str, files: Collection[str]) -> str:
    """The location in a stack that faulthandler wrote: ``app.py in f``; empty if unknown.

    As in :func:`failure_of`: preferably a frame of the application. Of a crash in an extension with
    counters: its file, and the address in it.
    """
    if found := re.search(rf"^{COMPILED}: (.+)$", trace, re.MULTILINE):
        return found[1]
    frames = re.findall(r'File "([^"\n]*)", line \d+ in ([^\n]*)', trace)
    inside = [f for f in frames if f[0] in files]
    outside = [f for f in frames if "/fuzztui/engines/" not in f[0]]
    outside.sort(key=lambda f: is_generated(f[0]))
    for file, function in [*inside, *outside][:1]:
        return StackFrame(function, file).place
    return ""


def title_of(error: BaseException, when: str = "") -> str:
    """``ZeroDivisionError: division by zero``, on one line. Calls the target's ``__str__``.

    ``when``: text to put after the class's name.
    """
    name = qualified(type(error)) + when
    text = " ".join(str(error).split())
    return f"{name}: {text[:200]}" if text else name


def traceback_text(error: BaseException) -> str:
    """The traceback without the engine's outer frames, cut in the middle. May call target code."""
    lines = traceback.format_exception(type(error), error, traceback_of(error))
    return _cut("".join(lines))


def hang_text(stack: Stack) -> str:
    """The stack of a timed-out trial as text."""
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
    return f"{text[:half]}\n  ... {len(text) - 2 * half} characters omitted ...\n{text[-half:]}"


def printable(data: bytes, limit: int = 200) -> str:
    """A short form of an input on one line, with unprintable characters escaped."""
    text = data[: limit * 4].decode("utf-8", "backslashreplace")
    out = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return out if len(out) <= limit and len(data) <= limit * 4 else out[:limit] + "..."
