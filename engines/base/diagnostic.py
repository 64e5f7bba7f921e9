"""What is to be said of a campaign file whose campaign could start."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Diagnostic"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Words about a key of the campaign file ("": about none). ``warns``: it is a mistake."""

    words: str
    key: str = ""
    warns: bool = False
