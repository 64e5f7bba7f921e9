"""AFL's file names, with the parents of inputs that fuzztui's text mutators made."""

from __future__ import annotations

from dataclasses import replace

from fuzztui.engines.text.table import ARMS, BALANCED
from fuzztui.kernel.wire import afl

_TEXT_MUTATORS = frozenset(ARMS)


def parse_name(name: str) -> afl.AflFileName:
    """Parse a file name (:func:`fuzztui.kernel.wire.afl.parse_name`); ``src`` lacks parents that
    the mutator did not use."""
    found = afl.parse_name(name)
    return replace(found, src=_parents(found.src, found.op)) if len(found.src) > 1 else found


def _parents(src: tuple[int, ...], op: str) -> tuple[int, ...]:
    """Return ``src`` without the second entry if the text mutators of ``text.c`` did not use that.

    afl-fuzz names the second entry for each input of a custom mutator, but only one text mutator
    reads it.
    """
    names = op.partition(",rep:")[0].split("+")
    unused = _TEXT_MUTATORS.issuperset(names) and BALANCED not in names
    return src[:1] if unused else src
