"""How often the generators of the library make a mistake."""

from __future__ import annotations

from typing import Final

from fuzztui.engines.inputs.source import Source

ERRONEOUS: Final = 0.003
"""The probability of a mistake in the paper."""


def mistake(r: Source, erroneous: float) -> bool:
    """Draw whether to make a mistake here. ``erroneous``: the probability; 0: nothing is drawn."""
    return erroneous > 0 and r.below(1 << 16) < erroneous * (1 << 16)
