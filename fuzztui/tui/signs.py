"""The signs of findings, by category."""

from __future__ import annotations

from typing import Final

__all__ = ["FINDING_SIGNS"]

FINDING_SIGNS: Final = {"crash": "✗", "hang": "▲", "differs": "≠"}
"""A category is also the name of its style."""
