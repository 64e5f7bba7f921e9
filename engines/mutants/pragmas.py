"""``# pragma: no mutate: REASON``: lines of a source that have no mutants, and why."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

_PRAGMA = re.compile(r"pragma:\s*no\s+mutate\b(.*)", re.IGNORECASE)
_REST = re.compile(r"\s*(start\b|end\b|)\s*(?::\s*(\S.*?))?\s*", re.IGNORECASE)

_BLANK = (tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)


class PragmaError(Exception):
    """A pragma is wrong; the message is ``LINE: WHAT IS WRONG; WHAT TO DO``."""


@dataclass(slots=True)
class Pragma:
    """A comment that excludes mutants."""

    line: int
    last: int
    """The last line that it covers, unless it begins a range."""
    alone: bool
    """Whether there is no code on its line."""
    rest: str
    """The comment after ``no mutate``."""


def pragma_in(comment: str, line: int, *, alone: bool) -> Pragma | None:
    """Return the pragma in a comment; None if the comment has none."""
    found = _PRAGMA.search(comment)
    return Pragma(line, line, alone, found[1]) if found else None


def reasons_of(pragmas: Iterable[Pragma]) -> dict[int, str]:
    """Return the reason of each excluded line. Raises :class:`PragmaError`."""
    reasons: dict[int, str] = {}
    begun: tuple[int, str] | None = None
    for pragma in pragmas:
        found = _REST.fullmatch(pragma.rest)
        kind, reason = (found[1].lower(), found[2]) if found else ("", None)
        first, last = pragma.line, pragma.last
        if kind == "end" and begun is not None:
            (first, reason), last, begun = begun, pragma.line, None
        elif kind == "end":
            raise PragmaError(f"{first}: no mutate end: there is no start; write no mutate start")
        elif not reason:
            form = f"pragma: no mutate{kind and ' '}{kind}: REASON"
            raise PragmaError(f"{first}: pragma: no mutate has no reason; write {form}")
        elif begun is not None:
            raise PragmaError(f"{first}: is within the range from line {begun[0]}; remove it")
        elif kind == "start":
            begun = first, reason
            continue
        elif pragma.alone:
            raise PragmaError(
                f"{first}: pragma: no mutate has a line of its own; put it after code, or write "
                "no mutate start: REASON and no mutate end around lines"
            )
        reasons |= dict.fromkeys(range(first, last + 1), str(reason))
    if begun is not None:
        raise PragmaError(f"{begun[0]}: no mutate start has no end; write pragma: no mutate end")
    return reasons


def python_reasons(source: bytes) -> dict[int, str]:
    """Return the reason of each excluded line of Python source. Raises :class:`PragmaError`.

    A pragma on the line that ends the header of a block covers the block. A file that Python
    cannot read has no excluded lines.
    """
    if not re.search(rb"(?i)no\s+mutate", source):
        return {}
    pragmas: list[Pragma] = []
    header: list[Pragma] = []
    """Those of the present logical line, or of the one before an indentation."""
    blocks: list[list[Pragma]] = []
    last = 0
    try:
        for token in tokenize.tokenize(BytesIO(source).readline):
            if token.type == tokenize.COMMENT:
                alone = not token.line[: token.start[1]].strip()
                if pragma := pragma_in(token.string, token.start[0], alone=alone):
                    pragmas.append(pragma)
                    header += [] if alone else [pragma]
            elif token.type == tokenize.INDENT:
                blocks.append(header)
            elif token.type == tokenize.DEDENT:
                for pragma in blocks.pop():
                    pragma.last = last
            elif token.type == tokenize.NEWLINE:
                last = token.start[0]
            elif token.type not in _BLANK and last >= max((p.line for p in header), default=last):
                header = []
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        return {}
    return reasons_of(pragmas)
