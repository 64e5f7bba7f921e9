"""Apply universalmutator's rules to the lines of a source: regular expressions and replacements.

The mutants and their order are those of universalmutator 1.14.1 (``mutants_regexp``) when it does
not mutate string literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "rules"

_COMMENTS: Final = (("/*", "*/"), ("{-", "-}"))
"""How block comments begin and end, in C, and as universalmutator has it also in FunC."""

_TEST_BEGIN, _TEST_END = "@BEGIN_TEST_CODE", "@END_TEST_CODE"
"""Markers in a source around lines that are not mutated."""

_LITERAL: Final = re.compile(r'"([^"]*)("?)')


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern, its replacement, and the line of the rule file."""

    pattern: re.Pattern[str]
    replacement: str
    text: str


@dataclass(frozen=True, slots=True)
class _Rules:
    """``rules`` in order. A line that matches one of ``spared`` is not mutated; after a match of
    ``ends`` the rest of the line is not."""

    rules: tuple[_Rule, ...]
    spared: tuple[re.Pattern[str], ...]
    ends: tuple[re.Pattern[str], ...]


def changed_lines(lines: Sequence[str], files: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield mutants of ``lines``, which have no line ends: line number (from 1), new line, rule.

    ``files``: names of rule files.
    """
    rules = _read(tuple(files))
    for number in _mutable(lines):
        yield from ((number, *change) for change in _changes(f"{lines[number - 1]}\n", rules))


@cache
def _read(files: tuple[str, ...]) -> _Rules:
    """Return the rules of all ``files``; invalid lines are left out."""
    rules: list[_Rule] = []
    spared: list[re.Pattern[str]] = []
    ends: list[re.Pattern[str]] = []
    for text in (line for file in files for line in (_FOLDER / file).read_text().split("\n")):
        # The blank after the arrow may be missing if the replacement is empty.
        before, arrow, after = text.partition(" ==> " if " ==> " in text else " ==>")
        try:
            pattern = re.compile(before)
        except re.error:
            continue
        replacement = after.partition(" ==> ")[0]
        if replacement == "DO_NOT_MUTATE":
            spared.append(pattern)
        elif replacement == "SKIP_MUTATING_REST":
            ends.append(pattern)
        elif arrow:
            rules.append(_Rule(pattern, replacement, text.strip()))
    return _Rules(tuple(rules), tuple(spared), tuple(ends))


def _mutable(lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of lines that are not a comment, blank or test code."""
    closing, in_test = "", False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if closing:
            closing = "" if closing in line else closing
            continue
        opened = next((pair for pair in _COMMENTS if pair[0] in line), None)
        if opened:
            begin, end = opened
            closed = end in line and line.index(begin) <= line.index(end)
            closing = "" if closed else end
        elif in_test:
            in_test = _TEST_END not in line
        elif _TEST_BEGIN in line:
            in_test = True
        else:
            yield number


def _changes(line: str, rules: _Rules) -> Iterator[tuple[str, str]]:
    """Yield each different line that a rule makes of ``line``, once, with the rule."""
    if any(pattern.search(line) for pattern in rules.spared):
        return
    found = (match.start() for pattern in rules.ends if (match := pattern.search(line)))
    end = min(found, default=len(line))
    bare = _without_literals(line)
    seen: set[str] = set()
    for rule in rules.rules:
        match = rule.pattern.search(line)
        while match and match.start() < end:
            at = match.start()
            try:
                changed = line[:at] + rule.pattern.sub(rule.replacement, line[at:], count=1)
            except re.error:  # the replacement names a group that does not exist
                return
            changed = changed.removesuffix("\n") + "\n"
            if changed != line and changed not in seen and _without_literals(changed) != bare:
                seen.add(changed)
                yield changed[:-1], rule.text
            match = rule.pattern.search(line, at + 1)


def _without_literals(line: str) -> str:
    """Replace each string literal by "True" if it has two characters or more, else "False"."""
    return _LITERAL.sub(lambda m: f'"{len(m[1]) > 1}"' if m[2] else '"', line)
