"""The glyphs of findings, by category, and of a user's commands."""

from __future__ import annotations

from fuzztui.kernel.wire.finding_kinds import CRASH, DIFFERS, HANG, FindingKind, kind_of

_SIGNS: dict[FindingKind, str] = {CRASH: "✗", HANG: "▲", DIFFERS: "≠"}

STEERED = "◇"
"""A command, on time axes. Not ◆, which is a goal on the frontier."""


def finding_sign(category: str) -> str:
    """Return the glyph of a category, which is also the name of its style."""
    return _SIGNS.get(kind_of(category), "●")
