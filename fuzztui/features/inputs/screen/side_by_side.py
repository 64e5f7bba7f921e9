"""The outputs of a differential oracle's two sides, side by side. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from fuzztui.features.inputs.screen.pretty import laid_out
from fuzztui.tui.base.canvas import Line, OneLine, TextSpan
from fuzztui.tui.base.text import fit, plain, plain_lines

MIN_WIDTH: Final = 76
"""Cells below which the outputs stay one below the other."""

_MAX_LINES: Final = 500
_OUTCOME = r"(?:accepted it|rejected it|did not finish|died of |failed)"
_PROGRAM = re.compile(rf"\S.*? {_OUTCOME}")
_VALUE = re.compile(r"(?P<head>.*?accepted it: returned) (?P<value>.*)", re.DOTALL)


def side_by_side(report: str, width: int) -> list[Line] | None:
    """Return the two outputs in ``report`` in columns; None without room, or if it has no two.

    Lines that differ are marked with ``≠``; the first such line is bold.
    """
    sides = _sides(report)
    if sides is None or width < MIN_WIDTH:
        return None
    room = (width - 3) // 2
    heads, bodies = zip(*(_parts(side) for side in sides), strict=True)
    lines: list[Line] = [
        OneLine([TextSpan(fit(a, room), style), TextSpan("   "), TextSpan(fit(b, room), style)])
        for style, a, b in zip(("bold", "muted"), *heads, strict=False)
    ]
    left, right = (_wrapped(body, room) for body in bodies)
    first = True
    for a, b, same in _paired(left, right):
        mark, style = " ", ""
        if not same:
            mark, style, first = "≠", "bold differs" if first else "differs", False
        between = TextSpan(f" {mark} ", "bold differs" if mark.strip() else "rule")
        lines.append(
            OneLine([TextSpan(fit(a, room), style), between, TextSpan(fit(b, room), style)])
        )
    return lines


def _sides(report: str) -> tuple[str, str] | None:
    texts = [text for text in report.split("\n") if text]
    if len(texts) == 2:  # values of Python functions
        return texts[0], texts[1]
    lines = report.split("\n")
    heads = [
        n
        for n, text in enumerate(lines[:-1])
        if lines[n + 1].startswith("  ") and (n == 0 or not lines[n - 1]) and _PROGRAM.match(text)
    ]
    if len(heads) != 2 or heads[0] != 0:
        return None
    return "\n".join(lines[: heads[1]]).strip("\n"), "\n".join(lines[heads[1] :]).strip("\n")


def _parts(side: str) -> tuple[list[str], str]:
    """The head of one side, which is not compared, and its output."""
    if "\n" not in side:
        match = _VALUE.fullmatch(side)
        return ([plain(match["head"])], match["value"]) if match is not None else ([], side)
    outcome, command, *output = side.split("\n")
    return [plain(outcome), plain(command.strip())], "\n".join(output)


def _wrapped(output: str, room: int) -> list[str]:
    """The lines of an output; one line is laid out by its brackets, a long line is broken."""
    texts = output.split("\n") if "\n" in output else laid_out(output, room)
    lines = plain_lines("\n".join(texts), _MAX_LINES)
    return [line[i : i + room] for line in lines for i in range(0, max(1, len(line)), room)]


def _paired(left: Sequence[str], right: Sequence[str]) -> list[tuple[str, str, bool]]:
    pairs: list[tuple[str, str, bool]] = []
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        same = tag == "equal"
        pairs += [(x, y, same) for x, y in zip_longest(left[a:b], right[c:d], fillvalue="")]
    return pairs
