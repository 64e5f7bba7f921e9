"""The frames of a finding's stack, and the signature that follows from those that count.

A signature is made the same way by engines, triage and the fold, so that rules about which frames
count (``skip`` in the verdicts file) also regroup findings that are in the log already.
"""

from __future__ import annotations

import fnmatch
import hashlib
import posixpath
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from fuzztui.kernel.base.bounds import whole

OWN: Final = "own"
"""A frame of the application."""
HARNESS: Final = "harness"
"""A frame of the user's code that calls the application."""
LIBRARY: Final = "library"
"""A frame of the C library, a sanitizer, an interpreter or an installed library."""
KINDS: Final = (OWN, HARNESS, LIBRARY)

MAX_FRAMES: Final = 32
"""Frames of one finding in the log."""
MAX_TEXT: Final = 200
"""Characters of a function and of a file in the log; of a rule."""
MAX_RULES: Final = 200
"""Rules that a verdicts file can have."""

RULES_FILE: Final = ".skipped-frames"
"""The file next to the instances of a run with the rules that hold, one on a line, for engines."""

_SYSTEM_HEADER: Final = re.compile(
    r"""
      /usr/include/ (?:[\w-]+-linux-\w+/)? (?: (?:bits|c\+\+)/ .* | [\w-]+-linux-\w+/c\+\+/ .*
        | (?:ctype|stdio|stdlib|string|strings|wchar)\.h )
    | /usr/lib(?:64|32)?/ (?:gcc|clang|llvm[\w.-]*)/ .* /include/ .*
    """,
    re.VERBOSE,
)
"""Headers of the C and C++ libraries and of compilers, whose functions are compiled into programs.

Not all of ``/usr/include``: it also has libraries that are fuzzed.
"""

_IN: Final = " in "
Rules = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One call of a stack. ``line``: 0 if it is not part of the signature, or unknown."""

    function: str
    file: str = ""
    line: int = 0
    kind: str = OWN
    """One of :data:`KINDS`."""

    @property
    def place(self) -> str:
        """``file.py:12 in func``; ``in func`` without a file."""
        name = self.file.rpartition("/")[2]
        if not name or self.generated:
            return f"in {self.function}"
        return f"{name}:{self.line} in {self.function}" if self.line else self.rule

    @property
    def generated(self) -> bool:
        """Whether the code was made while the program ran: ``<string>``, ``<lambdify-7>``.

        Such a name is no path, and may contain a counter.
        """
        return is_generated(self.file)

    @property
    def rule(self) -> str:
        """The rule about this function: ``file.py in func``; without a file: ``func``."""
        name = self.file.rpartition("/")[2]
        return f"{name}{_IN}{self.function}" if name else self.function

    @property
    def located(self) -> bool:
        """Whether the frame has a line in a file that belongs to the program."""
        known = self.kind != LIBRARY and bool(self.line and self.file)
        return known and not self.generated and not is_system_header(self.file)

    def row(self) -> dict[str, Any]:
        """Return the frame as an event contains it; default values are left out."""
        row: dict[str, Any] = {"function": self.function[:MAX_TEXT]}
        if self.file:
            row["file"] = self.file[-MAX_TEXT:]
        if self.line:
            row["line"] = self.line
        if self.kind != OWN:
            row["kind"] = self.kind
        return row


def is_generated(file: str) -> bool:
    """Whether the name of a file is one that Python or flex gives to code without a file."""
    return file.startswith("<") or file.endswith(">")  # of a long name only the end is kept


def is_installed(file: str) -> bool:
    """Whether a Python file belongs to an installed package, by its path."""
    return "/site-packages/" in (path := f"/{file}") or "/dist-packages/" in path


def is_python_library(file: str) -> bool:
    """Whether a file is an installed package's or the standard library's, of any Python."""
    return is_installed(file) or "/lib/python3" in file


def is_system_header(file: str) -> bool:
    """Whether a file is a header of the C or C++ library, or of a compiler."""
    return _SYSTEM_HEADER.fullmatch(posixpath.normpath(file)) is not None


def frame_rows(
    frames: Iterable[StackFrame], same: Callable[[StackFrame], Hashable] = lambda frame: frame
) -> list[dict[str, Any]]:
    """Return frames, innermost first, as an event contains them: at most :data:`MAX_FRAMES`.

    Of frames for which ``same`` returns equal values only the innermost is kept. If there are too
    many, the innermost ``MAX_FRAMES / 2`` are kept, and as many of application and harness.
    """
    first: dict[Hashable, StackFrame] = {}
    for frame in frames:
        first.setdefault(same(frame), frame)
    once = list(first.values())
    kept = set(range(len(once)))
    if len(once) > MAX_FRAMES:
        own = [n for n, frame in enumerate(once) if frame.kind != LIBRARY]
        kept = {*own[: MAX_FRAMES // 2], *range(MAX_FRAMES // 2)}
    return [frame.row() for n, frame in enumerate(once) if n in kept]


def parse_frames(rows: Any) -> tuple[StackFrame, ...]:
    """Return the frames of an event, which may contain anything."""
    frames = []
    for row in rows[:MAX_FRAMES] if isinstance(rows, list) else ():
        function = row.get("function") if isinstance(row, dict) else None
        if isinstance(function, str) and function:
            file, kind = row.get("file"), row.get("kind")
            frames.append(
                StackFrame(
                    function[:MAX_TEXT],
                    file[-MAX_TEXT:] if isinstance(file, str) else "",
                    whole(row.get("line"), 0),
                    kind if kind in KINDS else OWN,
                )
            )
    return tuple(frames)


# --------------------------------------------------------------------- rules


def rule_problem(rule: str) -> str:
    """Why this is no rule, for users; an empty string if it is one."""
    if not rule.strip() or rule != rule.strip():
        return f"{rule[:40]!r}: write FUNCTION or FILE in FUNCTION, for example 'checks.py in *'"
    if len(rule) > MAX_TEXT:
        return f"a rule has at most {MAX_TEXT} characters, not {len(rule):,}"
    if not rule.isprintable():
        return f"{rule[:40]!r} contains a character that cannot be printed"
    if not rule.replace("*", "").replace("?", "").replace(_IN.strip(), "").strip():
        return f"{rule[:40]!r} would skip every frame"
    return ""


@lru_cache(maxsize=16)
def _compiled(rules: Rules) -> tuple[tuple[str, re.Pattern[str] | None, re.Pattern[str], int], ...]:
    """Each rule with patterns of its file and function, and the number of the file's parts."""
    compiled = []
    for rule in rules:
        file, _, function = rule.rpartition(_IN)
        by_file = _pattern(file) if file else None
        compiled.append((rule, by_file, _pattern(function), file.count("/") + 1))
    return tuple(compiled)


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern with ``*`` and ``?``. ``[`` is literal, because names of C++ contain it."""
    return re.compile(fnmatch.translate(text.replace("[", "[[]")))


def skipping_rule(frame: StackFrame, rules: Rules) -> str:
    """Return the first rule by which the frame does not count; an empty string if it counts.

    A rule is ``FUNCTION`` or ``FILE in FUNCTION``, with ``*`` and ``?``; ``FILE`` is the end of a
    path.
    """
    for rule, file, function, parts in _compiled(rules):
        if function.match(frame.function):
            end = "/".join(frame.file.split("/")[-parts:])
            if file is None or file.match(end):
                return rule
    return ""


# ---------------------------------------------------------------- signatures


@dataclass(frozen=True, slots=True)
class Basis:
    """What a signature is made of besides frames.

    For Python, ``depth`` is 0: ``ValueError @ crate.py:12 in unpack`` is made of ``name`` (the
    exception), the place of one frame, and ``after``, a text at the end. For a program,
    ``SIGSEGV-1f0c2d3e4a`` is made of ``name`` and a hash of ``name``, ``depth`` functions and the
    texts ``more``.
    """

    name: str
    after: str = ""
    depth: int = 0
    more: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the basis as an event contains it; default values are left out."""
        row: dict[str, Any] = {"name": self.name}
        if self.after:
            row["after"] = self.after
        if self.depth:
            row["depth"] = self.depth
        if self.more:
            row["more"] = list(self.more)
        return row


def parse_basis(row: Any) -> Basis | None:
    """Return the basis in an event, which may contain anything; None if there is none."""
    if not isinstance(row, dict):
        return None
    name, after, more = row.get("name"), row.get("after", ""), row.get("more", [])
    if not isinstance(name, str) or not name or not isinstance(after, str):
        return None
    if not isinstance(more, list) or not all(isinstance(text, str) for text in more):
        return None
    return Basis(name, after, whole(row.get("depth"), 0), tuple(more))


def counting(frames: Sequence[StackFrame], basis: Basis, rules: Rules) -> list[StackFrame]:
    """Return the frames of which the signature is made, innermost first; empty without frames.

    These are the application's frames; if none of them counts, others (generated code last). If the
    rules skip every frame, they are ignored for this stack.
    """
    left = [f for f in frames if not skipping_rule(f, rules)] if rules else list(frames)
    left = left or list(frames)
    # A hash is made of several functions, and the harness helps to tell stacks apart; a place is
    # that of one frame.
    wanted = (OWN, HARNESS) if basis.depth else (OWN,)
    left = [f for f in left if f.kind in wanted] or left
    if not basis.depth:
        return [f for f in left if not f.generated][:1] or left[:1]
    names: dict[str, StackFrame] = {}
    for frame in left:  # each name once: the depth of a finite recursion depends on the input
        names.setdefault(frame.function, frame)
    return [*names.values()][: basis.depth]


def signature_of(basis: Basis, frames: Sequence[StackFrame]) -> str:
    """Return the signature made of :func:`counting` frames."""
    if not basis.depth:
        return f"{basis.name} @ {frames[0].place if frames else ''}{basis.after}"
    names = [frame.function for frame in frames]
    text = "\n".join([basis.name, *names, *basis.more])
    digest = hashlib.sha256(text.encode(errors="backslashreplace"))
    word = re.sub(r"[^A-Za-z0-9]+", "-", basis.name).strip("-")[:40] or "crash"
    return f"{word}-{digest.hexdigest()[:10]}"


def former_signature(basis: Basis, frames: Sequence[StackFrame]) -> str:
    """Return the signature that earlier versions made without rules, as verdicts files have it.

    They took generated code for a place, with its line.
    """
    frame = next((f for f in frames if f.kind == OWN), frames[0])
    if basis.depth or not frame.generated:
        return signature_of(basis, counting(frames, basis, ()))
    line = f":{frame.line}" if frame.line else ""
    name = frame.file.rpartition("/")[2]
    return f"{basis.name} @ {name}{line} in {frame.function}{basis.after}"


def signature_under(signature: str, frames: Any, basis: Any, rules: Rules) -> str:
    """Return the signature of a description under rules; ``signature`` if it has no frames."""
    made_of, stack = parse_basis(basis), parse_frames(frames)
    if made_of is None or not stack or not signature:
        return signature
    return signature_of(made_of, counting(stack, made_of, rules))
