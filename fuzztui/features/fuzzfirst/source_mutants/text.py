"""A mutant as a change of one line of a source file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

DELETED = "...==>.../*...*/..."
"""The :func:`edit` of a statement that was commented out."""

_MAX_BLOCKS = 4

_QUOTED: Final = r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_LABEL: Final = r"|^[ \t]*(?!default\b)\w+[ \t]*:(?=[ \t]*$)"
NO_CODE: Final = {
    True: re.compile(r"#[^\n]*|(\"{3}|'{3}).*?\1" + _QUOTED, re.DOTALL),
    False: re.compile(
        r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*" + _LABEL + _QUOTED, re.DOTALL | re.MULTILINE
    ),
}
"""Comments and literals of Python, or of C with labels and lines of the preprocessor."""


@dataclass(frozen=True, slots=True)
class SourceMutant:
    """A mutant that replaces the line ``before`` of ``file`` by ``after``, both without line end.

    ``id``: ``FILE#HASH`` of the two lines, so it stays the same when other lines change. ``line``
    counts from 1. ``operator``: universalmutator's rule. ``hides``: the number of lines that the
    roadblock in line ``roadblock`` hides, if the mutant changes one; else 0.
    """

    id: str
    file: str
    line: int
    operator: str
    before: str
    after: str
    roadblock: int = 0
    hides: int = 0
    excluded: str = ""
    """Why a pragma excludes the mutant; an empty string: none does."""


def edit(before: str, after: str) -> str:
    """Return the change as universalmutator's metric represents it: ``...==>.../*...*/...``.

    Shared parts are ``...``; if the lines share more than three parts, the result is the whole new
    line. (universalmutator 1.14.1, ``utils.change``: shared characters are found again from the
    left, and the order of mutants depends on that.)
    """
    # Imported here: of the extra `first`, and GPL, so nothing else may need it.
    from Levenshtein import editops, matching_blocks

    before, after = before + "\n", after + "\n"
    blocks = matching_blocks(editops(before, after), before, after)
    if len(blocks) > _MAX_BLOCKS:
        return after[:-1]
    shared = "".join(before[i : i + n] for i, _, n in blocks)
    return f"{_dotted(before, shared)}==>{_dotted(after, shared)}"


def _dotted(text: str, shared: str) -> str:
    out: list[str] = []
    at, dots = 0, False
    for character in text:
        if at < len(shared) and character == shared[at]:
            at += 1
            out += [] if dots else ["..."]
            dots = True
        else:
            out.append(character)
            dots = False
    return "".join(out)


def squeezed(line: str, *, indented: bool) -> str:
    """Return a line without insignificant blanks; ``indented``: the indentation is significant."""
    text = " ".join(line.split())
    return line[: len(line) - len(line.lstrip())] + text if indented else text


def code_of(lines: Sequence[str], *, python: bool) -> list[str]:
    """Return lines with blanks in place of all that is neither code nor indentation."""
    text = NO_CODE[python].sub(lambda m: re.sub(r"[^\n]", " ", m[0]), "\n".join(lines))
    return text.split("\n")
