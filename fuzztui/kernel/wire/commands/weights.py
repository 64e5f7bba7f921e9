"""A user's weights of types, properties, mutators: their bounds, and how they are shown."""

from __future__ import annotations

MAX_WEIGHT = 1_000_000
"""The largest weight of a type or a property."""

MAX_MUTATOR_WEIGHT = 100
"""The largest weight of a text mutator: three of five draws, if the other 64 have weight 1. Old
logs have larger ones, which count as this."""


def weight_problem(weight: float, most: int = MAX_WEIGHT, whose: str = "a") -> str:
    """Return why a weight is invalid, for users; an empty string if it is valid."""
    if not 0 <= weight <= most:  # rejects NaN, too
        return f"{whose} weight is from 0 to {most:,}, not {str(weight)[:20]}"
    return ""


def weight_text(weight: float) -> str:
    """Return a user's weight of a type: ``×4``, ``÷2``, ``⊘ banned``."""
    if weight <= 0:
        return "⊘ banned"
    return f"×{_times(weight)}" if weight >= 1 else f"÷{_times(1 / weight)}"


def _times(n: float) -> str:
    return f"{n:,.0f}" if n >= 100 else f"{n:.3g}"
