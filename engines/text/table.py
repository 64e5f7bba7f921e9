"""The table of text mutators, read from the header that the C code includes.

After "Fast String-level Approximation of Mutation Operators" in the paper on compiler fuzzing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).with_name("mutators.h")


class TextMutatorKind(Enum):
    """What a mutator does with its strings (see mutators.h)."""

    REPLACE = "replace"
    SPAN = "span"
    SWAP = "swap"
    DUPLICATE = "duplicate"


_STRINGS: Final = {
    TextMutatorKind.REPLACE: 2,
    TextMutatorKind.SPAN: 3,
    TextMutatorKind.SWAP: 3,
    TextMutatorKind.DUPLICATE: 2,
}
_DELIMITERS: Final = {
    TextMutatorKind.REPLACE: 1,
    TextMutatorKind.SPAN: 2,
    TextMutatorKind.SWAP: 3,
    TextMutatorKind.DUPLICATE: 2,
}


@dataclass(frozen=True, slots=True)
class TextMutator:
    """One line of the table; ``strings`` are the arguments after the name."""

    name: str
    kind: TextMutatorKind
    strings: tuple[bytes, ...]

    @property
    def delimiters(self) -> tuple[bytes, ...]:
        """The strings that the input must contain, in this order, for the mutator to apply."""
        return self.strings[: _DELIMITERS[self.kind]]

    @property
    def effect(self) -> str:
        """The effect of the mutator, as text for users."""
        parts = [_shown(s) for s in self.strings]
        match self.kind:
            case TextMutatorKind.REPLACE:
                return f"{parts[0]} -> {parts[1]}"
            case TextMutatorKind.SPAN:
                return f"{parts[0]}...{parts[1]} -> {parts[2]}"
            case TextMutatorKind.SWAP:
                return f"swap the two parts of {parts[0]}...{parts[1]}...{parts[2]}"
            case TextMutatorKind.DUPLICATE:
                return f"{parts[0]}...{parts[1]} twice"


def parse(text: str) -> tuple[TextMutator, ...]:
    """Parse a table such as mutators.h. Raises ValueError for a malformed line."""
    return tuple(_mutators(text))


_LINE: Final = re.compile(r"FT_([A-Z]+)\((.*)\)\Z")
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


def _mutators(text: str) -> Iterator[TextMutator]:
    # A comment becomes as many empty lines, because errors name the line.
    bare = _COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    names = set[str]()
    for number, line in enumerate(bare.splitlines(), 1):
        if not line.strip():
            continue
        match = _LINE.match(line.strip())
        if not match or match[1] not in TextMutatorKind.__members__:
            raise ValueError(f"{TABLE.name}:{number}: not a text mutator: {line}")
        kind = TextMutatorKind[match[1]]
        name, *strings = _literals(match[2], number)
        if not _NAME.match(name) or name in names:
            raise ValueError(f"{TABLE.name}:{number}: the name {name!r} is not unique or invalid")
        mutator = TextMutator(name, kind, tuple(s.encode("latin-1") for s in strings))
        if len(strings) != _STRINGS[kind] or not all(mutator.delimiters):
            raise ValueError(f"{TABLE.name}:{number}: {_STRINGS[kind]} strings are needed")
        names.add(name)
        yield mutator


def _literals(arguments: str, number: int) -> tuple[str, ...]:
    r"""Parse C's string literals, with the escapes of both C and Python (\n, \t, \", \\, \x..)."""
    try:
        # A list, since one string in parentheses is no tuple. Adjacent strings join as in C.
        values = ast.literal_eval(f"[{arguments}]")
    except (SyntaxError, ValueError):
        values = []
    if not values or not all(isinstance(v, str) for v in values):
        raise ValueError(f"{TABLE.name}:{number}: strings are needed: {arguments}")
    return tuple(values)


def _shown(string: bytes) -> str:
    return '"' + string.decode("latin-1").encode("unicode_escape").decode() + '"'


MUTATORS: Final = parse(TABLE.read_text(encoding="ascii"))
"""The text mutators in the order of the table: a mutator's number is its index."""

NAMES: Final = tuple(mutator.name for mutator in MUTATORS)

TEMPLATE: Final = "template"
FRAGMENT: Final = "fragment"
BALANCED: Final = "balanced"
HAVOC: Final = "havoc"

ARMS: Final = (*NAMES, TEMPLATE, FRAGMENT, BALANCED, HAVOC)
"""The names of all mutators with counters and weights: those of the table, then the others."""
