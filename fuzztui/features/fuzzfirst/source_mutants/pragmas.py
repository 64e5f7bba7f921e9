"""``pragma: no mutate: REASON`` in comments of sources: lines without mutants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fuzztui.engines.mutants.pragmas import Pragma, pragma_in, python_reasons, reasons_of
from fuzztui.features.fuzzfirst.source_mutants.text import NO_CODE, code_of


def excluded_lines(lines: Sequence[str], *, python: bool) -> dict[int, str]:
    """Return the reason of each excluded line (from 1). Raises :class:`PragmaError`.

    A pragma of C after the brace that opens a block, at the end of a line, covers the block.
    """
    text = "\n".join([*lines, ""])
    if python:
        return python_reasons(text.encode(errors="surrogateescape"))
    return reasons_of(_of_c(text, code_of(lines, python=False))) if "mutate" in text.lower() else {}


def _of_c(text: str, code: Sequence[str]) -> Iterator[Pragma]:
    for comment in NO_CODE[False].finditer(text):
        words = comment[0].removesuffix("*/")
        at = text.count("\n", 0, comment.start()) + 1
        line = code[at - 1].rstrip()
        if words.startswith(("//", "/*")) and (pragma := pragma_in(words, at, alone=not line)):
            column = comment.start() - text.rfind("\n", 0, comment.start()) - 1
            if line.endswith("{") and column >= len(line):
                pragma.last = _closing(code, at)
            yield pragma


def _closing(code: Sequence[str], line: int) -> int:
    """The line with the brace that closes the one at the end of ``line``."""
    depth = 1
    for number, text in enumerate(code[line:], line + 1):
        for brace in re.findall("[{}]", text):
            depth += 1 if brace == "{" else -1
            if not depth:
                return number
    return line
