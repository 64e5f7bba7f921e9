"""Errors in a campaign file, each with its place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One error: its place (``file:line`` or ``--set ...``), the dotted key, the message."""

    origin: str
    key: str
    text: str

    def __str__(self) -> str:
        """``file:line: key: text``."""
        return ": ".join(part for part in (self.origin, self.key, self.text) if part)


class CampaignError(Exception):
    """The campaign file is invalid. ``problems`` contains every error, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
