"""The table of text mutators, read from the header that the C code includes.

After "Fast String-level Approximation of Mutation Operators" in the paper on compiler fuzzing.
"""

from __future__ import annotations

import ast
import re
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


_LINE: Final = re.compile(r"^FT_([A-Z]+)\((.*)\)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)


def parse(text: str) -> tuple[TextMutator, ...]:
    """Parse a table such as mutators.h, whose strings have escapes of both C and Python."""
    return tuple(
        TextMutator(name, TextMutatorKind[kind], tuple(s.encode("latin-1") for s in strings))
        for kind, arguments in _LINE.findall(_COMMENT.sub("", text))
        for name, *strings in [ast.literal_eval(f"[{arguments}]")]
    )


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
