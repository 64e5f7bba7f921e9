"""Diagnostics: warnings and notes about a campaign that can nevertheless start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message about the campaign file. ``warns``: a warning, else a note.

    ``key``: the key that the message is about; empty: none.
    """

    words: str
    key: str = ""
    warns: bool = False
