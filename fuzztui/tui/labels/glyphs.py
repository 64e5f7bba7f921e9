"""The glyphs of findings, by category."""

from __future__ import annotations

from typing import Final

DIFFERS: Final = "differs"
FINDING_SIGNS: Final = {"crash": "✗", "hang": "▲", DIFFERS: "≠"}
"""Glyph by category; the category is also the name of the style."""
