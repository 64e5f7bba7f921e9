"""How often a ready generator makes a mistake."""

from __future__ import annotations

from typing import Final

from fuzztui.engines.inputs.source import Source

__all__ = ["ERRONEOUS", "mistake"]

ERRONEOUS: Final = 0.003
"""The paper's share of things that are not as they should be."""


def mistake(r: Source, erroneous: float) -> bool:
    """Is a mistake to be made here? ``erroneous``: how probable that is; 0 costs no choice."""
    return erroneous > 0 and r.below(1 << 16) < erroneous * (1 << 16)
