"""The language of filters and selections: conditions such as ``state=alive runs>10``.

A condition is KEY, an operator (= != < <= > >=) and a value. After = and != the value is one or
more shell patterns with ``|`` between them; after the others it is a number, with a unit if any:
``1.5k``, ``90s``, ``1:30``, ``5%``. Conditions are separated by blanks or commas and must all be
true. Double quotes protect blanks and commas; so do brackets: ``[,]``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import translate
from typing import Any, Final, Generic, TypeVar

R = TypeVar("R")

_CONDITION: Final = re.compile(r"([A-Za-z+÷#][\w/+-]*)(!=|<=|>=|=|<|>)(?!=)(.*)", re.DOTALL)
_WORD: Final = re.compile(r'(?:"[^"]*(?:"|$)|\[[\s,|"]\]|\S)+')
_PART: Final = re.compile(r'(?:"[^"]*(?:"|$)|\[[\s,|"]\]|[^,])+')
_ALTERNATIVE: Final = re.compile(r"(?:\[[\s,|\"]\]|[^|])+")
_NUMBER: Final = re.compile(r"(-?\d+(?:\.\d*)?|-?\.\d+)([a-zA-Z%]?)")
_UNITS: Final = {
    "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "%": 0.01,
    "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip


class ConditionError(ValueError):
    """The text is not a condition; the message names the problem and what to write."""


@dataclass(frozen=True, slots=True)
class FilterKey(Generic[R]):
    """A key of conditions: how to get and compare its value for a row."""

    text: Callable[[R], str]
    """Returns the text that = and != compare with a pattern."""
    number: Callable[[R], float] | None = None
    """Returns the number that the other operators compare; negative: unknown."""
    folded: bool = True
    """Whether upper and lower case are the same."""
    tail: str = ""
    """The separator of parts; a value may be the last part alone. Empty: only the whole text."""
    listed: bool = True
    """Whether the values are few enough to be suggested while a user types one."""


@dataclass(frozen=True, slots=True)
class FilterCondition:
    """One condition, as it was written."""

    key: str
    op: str
    value: str

    def __str__(self) -> str:
        quoted = re.search(r"[\s,]", re.sub(r'\[[\s,|"]\]', "", self.value)) is not None
        return f"{self.key}{self.op}" + (f'"{self.value}"' if quoted else self.value)

    def test(self, key: FilterKey[R]) -> Callable[[R], bool]:
        """Return the test for a row. Raises :class:`ConditionError`."""
        if self.op in ("=", "!="):
            return _text_test(key, self.value, wanted=self.op == "=")
        number = key.number
        if number is None:
            raise ConditionError(f"{self.key} is no number: write {self.key}= or {self.key}!=")
        limit = parse_number(self.value)
        if limit is None:
            raise ConditionError(
                f"{self.key}{self.op}{self.value}: {self.value!r} is not a number such as 10, "
                "1.5k, 90s, 1:30 or 5%"
            )
        match self.op:
            case "<":
                return lambda row: 0 <= number(row) < limit
            case "<=":
                return lambda row: 0 <= number(row) <= limit
            case ">":
                return lambda row: number(row) > limit
            case _:
                return lambda row: number(row) >= limit if limit > 0 else number(row) >= 0


def parse_number(text: str) -> float | None:
    """Return the value of a number, in seconds if it has a unit of time; None: not a number."""
    if ":" in text:
        parts = text.split(":")
        if len(parts) > 3 or not all(part.isascii() and part.isdecimal() for part in parts):
            return None
        seconds = 0.0
        for part in parts:
            seconds = 60 * seconds + float(part)
        return seconds
    found = _NUMBER.fullmatch(text.replace(",", ""))
    unit = None if found is None else _UNITS.get(found[2])
    value = math.nan if found is None or unit is None else float(found[1]) * unit
    return value if math.isfinite(value) else None


def alternatives(value: str) -> list[str]:
    """Return the patterns of a value, which are separated by ``|``."""
    return [part for part in _ALTERNATIVE.findall(value) if part]


def exactly(text: str) -> str:
    """Return a value that matches ``text`` alone.

    Each character with a meaning in conditions or patterns is put in brackets.
    """
    return re.sub(r'[*?\[,|"=\s]', lambda found: f"[{found[0]}]", text)


def literal(pattern: str) -> str | None:
    """Return the only text that the pattern matches; None: it may match several."""
    bare = re.sub(r'\[([*?\[,|"=\s])\]', "", pattern)
    if any(ch in bare for ch in "*?["):
        return None
    return re.sub(r'\[([*?\[,|"=\s])\]', r"\1", pattern)


def _text_test(key: FilterKey[R], value: str, *, wanted: bool) -> Callable[[R], bool]:
    fold: Callable[[str], str] = str.casefold if key.folded else str
    exact: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    for part in alternatives(fold(value)):
        if (only := literal(part)) is not None:
            exact.add(only)
        else:
            patterns.append(re.compile(translate(part)))
    text = key.text
    # A last part alone matches only values without wildcards.
    ends = tuple(key.tail + only for only in exact) if key.tail else ()

    def holds(row: R) -> bool:
        here = fold(text(row))
        found = here in exact or here.endswith(ends) or any(p.match(here) for p in patterns)
        return found is wanted

    return holds


def split_condition(text: str) -> FilterCondition | None:
    """Parse ``text`` as a condition with any key; None if it does not have the form of one."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        return None
    return FilterCondition(found[1], found[2], _unquoted(found[3]))


def _unquoted(text: str) -> str:
    return re.sub(r'\["\]|"', lambda found: found[0] if len(found[0]) > 1 else "", text)


def words_of(text: str) -> list[str]:
    """Split at blanks, but not within quotes or brackets, which are kept."""
    return _WORD.findall(text)


def parts_of(word: str) -> list[str]:
    """Split at commas, but not within quotes or brackets."""
    return _PART.findall(word)


def unknown_key(name: str, keys: Iterable[str]) -> str:
    """Return the message for a key that does not exist."""
    known = list(keys)
    near = get_close_matches(name, known, 1, 0.6)
    hint = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
    return f"no key {name!r}; {hint}"


# -------------------------------------------------------------------- filter


@dataclass(frozen=True, slots=True)
class RowFilter(Generic[R]):
    """The content of a filter's input: words, and conditions, which must all be true."""

    words: tuple[str, ...] = ()
    conditions: tuple[FilterCondition, ...] = ()
    tests: tuple[Callable[[R], bool], ...] = ()
    problem: str = ""
    """What is wrong with a condition, which is then not applied; an empty string if nothing is."""

    def passes(self, row: R) -> bool:
        """Return whether the row meets all conditions; words are not looked at."""
        return all(test(row) for test in self.tests)


def parse_filter(text: str, keys: Mapping[str, FilterKey[R]]) -> RowFilter[R]:
    """Parse words and conditions. Never raises: see :attr:`RowFilter.problem`.

    A condition without a value, which is being typed, is left out. Text in double quotes is a word.
    """
    words: list[str] = []
    conditions: list[FilterCondition] = []
    tests: list[Callable[[R], bool]] = []
    problems: list[str] = []
    for word in words_of(text):
        if split_condition(word) is None:
            if bare := _unquoted(word):
                words.append(bare)
            continue
        for part in parts_of(word):
            condition = split_condition(part)
            if condition is None:
                if not any(key.startswith(part) for key in keys):
                    problems.append(f"{part!r} is no condition: write key=value")
            elif condition.key not in keys:
                problems.append(unknown_key(condition.key, keys))
            elif condition.value:
                try:
                    tests.append(condition.test(keys[condition.key]))
                    conditions.append(condition)
                except ConditionError as e:
                    problems.append(str(e))
    return RowFilter(tuple(words), tuple(conditions), tuple(tests), next(iter(problems), ""))


def attribute(name: str) -> Callable[[Any], str]:
    """Return a function that returns an attribute as text; "" if a row has none."""
    return lambda row: str(getattr(row, name, ""))


def figure(name: str) -> Callable[[Any], float]:
    """Return a function that returns a number among the attributes; -1 if a row has none."""
    return lambda row: float(getattr(row, name, -1))
