"""Roadblocks: conditions that a corpus reaches, but of which one branch is never taken.

T-Fuzz (Peng et al. 2018) removes such conditions, because a fuzzer gets no further there. What a
roadblock hides is an approximation, by the lines that were executed and by the indentation: the
next lines of its function that were not executed, up to a line that was, and the functions that
were never entered and are called there.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Final

from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.text import code_of

LEAVING: Final = re.compile(
    r"\b(return|goto|break|continue|raise|throw|assert|abort|longjmp|_?_?exit)\b", re.IGNORECASE
)
"""Statements, and functions of C, that end the way to the lines behind them."""

_BRACES: Final = ("{", "}", "};")

_MAX_LOGICAL = 30
"""Maximum number of lines of one condition: unbalanced parentheses, as in macros, end there."""


@dataclass(frozen=True, slots=True)
class Roadblock:
    """A condition in ``file``, from ``line`` on; ``hides``: the number of lines behind it."""

    file: str
    line: int
    hides: int
    met: bool
    """Whether the hidden lines are those for which the condition must be true."""
    leaving: frozenset[int] = frozenset()
    """Executed lines after the condition that leave the function, the loop or the program."""


class SourceLayout:
    """The lines of a source (from 1) without comments and literals, and their indentation."""

    def __init__(self, lines: Sequence[str], *, python: bool) -> None:
        self.code = ["", *code_of(lines, python=python)]
        self.starts = [0]
        """By line: the first line of the statement or condition, which parentheses continue."""
        opening, closing = ("([{", ")]}") if python else ("([", ")]")
        depth = first = 0
        for number, text in enumerate(self.code[1:], 1):
            if depth <= 0 or number - first >= _MAX_LOGICAL:
                depth, first = 0, number
            self.starts.append(first)
            depth += sum(map(text.count, opening)) - sum(map(text.count, closing))

    def indent(self, line: int) -> float:
        """The indentation of a line; infinite for a line without code."""
        text = self.code[line].expandtabs()
        return len(text) - len(text.lstrip()) if text.strip() else math.inf

    def names(self, first: int, last: int) -> set[str]:
        """The names that are called in these lines."""
        return set(re.findall(r"\b(\w+)\s*\(", "\n".join(self.code[first : last + 1])))


LineRange = tuple[str, int, int]
"""A file with the first and the last of some lines."""


@dataclass(slots=True)
class _Found:
    """One roadblock, while its lines are collected.

    Ranges, not lines: each of thousands of conditions may hide most of a program.
    """

    met: bool
    own: set[LineRange] = field(default_factory=set)
    """Hidden lines of the condition's own function."""
    names: set[str] = field(default_factory=set)
    """Names that are called there."""
    leaving: set[int] = field(default_factory=set)


class Roadblocks:
    """Finds the roadblocks of files whose layouts are known."""

    def __init__(self, reach: BuildReach, layouts: Mapping[str, SourceLayout]) -> None:
        self._reach, self._layouts = reach, layouts
        self._statements = {file: sorted(lines) for file, lines in reach.statements.items()}
        self._idle: dict[str, list[LineRange]] = {}
        """Functions that were never entered, by their short name."""
        for file, rows in reach.functions.items():
            for name, first, last in rows:
                within = self._within(file, first, last)
                if within and reach.lines.get(file, set()).isdisjoint(within):
                    short = re.split(r"\.|::", name.partition("(")[0])[-1]
                    self._idle.setdefault(short, []).append((file, first, last))
        self._calls = {
            row: layouts[row[0]].names(row[1] + 1, row[2]) & self._idle.keys()
            for row in chain(*self._idle.values())
            if row[0] in layouts
        }
        """The names of such functions that a function calls which was never entered."""

    def find(self) -> list[Roadblock]:
        """Return all roadblocks, those that hide most first."""
        found = [one for file in self._layouts for one in self._of_file(file)]
        return sorted(found, key=lambda r: (-r.hides, r.file, r.line))

    def _of_file(self, file: str) -> Iterator[Roadblock]:
        layout = self._layouts[file]
        starts, size = layout.starts, len(layout.starts)
        lines = {n for n in self._reach.statements.get(file, ()) if n < size}
        executed = {starts[n] for n in self._reach.lines.get(file, ()) if n < size}
        decisions = {starts[n] for n in self._reach.decisions.get(file, ()) if n < size} & executed
        owners = self._owners(file, size)
        found: dict[int, _Found] = {}
        rows = ((owners[n], starts[n] in executed, n) for n in sorted(lines))
        for (function, was_executed), run in groupby(rows, key=lambda row: row[:2]):
            hidden = [n for *_, n in run]
            if was_executed:
                continue
            # A brace on a line of its own is indented like its condition.
            line = next((n for n in hidden if layout.code[n].strip() not in _BRACES), hidden[0])
            if (decision := _decision(layout, function, line, decisions, executed)) is None:
                continue
            at, met = decision
            one = found.setdefault(at, _Found(met))
            one.own.add((file, hidden[0], hidden[-1]))
            one.names |= layout.names(hidden[0], hidden[-1]) & self._idle.keys()
            between = range(at, starts[hidden[0]])
            one.leaving |= {
                n for n in between if starts[n] in executed and LEAVING.search(layout.code[n])
            }
        for at in decisions - found.keys():  # if (ready) start(); in one line
            last = next((n for n in range(at, size) if starts[n] != at), size) - 1
            if names := layout.names(at, last) & self._idle.keys():
                found[at] = _Found(True, names=names)
        for at, one in found.items():
            leaving = frozenset() if one.met else frozenset(one.leaving)
            yield Roadblock(file, at, self._count(one), one.met, leaving)

    def _owners(self, file: str, size: int) -> list[int]:
        """Return by line the first line of the innermost function around it; 0: none."""
        owners = [0] * size
        for _, first, last in sorted(self._reach.functions.get(file, ()), key=lambda f: f[1]):
            for line in range(first, min(last + 1, size)):
                owners[line] = first
        return owners

    def _within(self, file: str, first: int, last: int) -> list[int]:
        """Return the executable lines of a function."""
        every = self._statements.get(file, [])
        return every[bisect_left(every, first) : bisect_right(every, last)]

    def _count(self, found: _Found) -> int:
        """Return the number of hidden lines, with those of functions that were never entered."""
        ranges, names, known = set(found.own), found.names, set[str]()
        while names := names - known:
            known |= names
            rows = {row for name in names for row in self._idle[name]}
            ranges |= rows
            names = set().union(*(self._calls.get(row, ()) for row in rows))
        count, before = 0, ("", 0)
        for file, first, last in sorted(ranges):  # one function may be inside another
            begin = max(first, before[1] + 1) if file == before[0] else first
            if last >= begin:
                count += len(self._within(file, begin, last))
                before = file, last
        return count


def _decision(
    layout: SourceLayout, function: int, line: int, decisions: set[int], executed: set[int]
) -> tuple[int, bool] | None:
    """Return the condition because of which a line is not executed, and if it must be true.

    It is the nearest one before the line in whose block the line is, or after whose block, if this
    leaves the function; by indentation. None if there is none.
    """
    first = layout.starts[line]
    own = layout.indent(first)
    least = least_executed = math.inf
    for at in range(first - 1, function - 1, -1):
        indent = layout.indent(at)
        if layout.starts[at] != at or math.isinf(indent):
            continue
        if at in decisions and indent <= min(own, least):
            if indent < own and math.isinf(least_executed):
                return at, True
            if indent < least_executed and (indent == own or least < own):
                return at, False
        least = min(least, indent)
        if at in executed:
            least_executed = min(least_executed, indent)
    return None
