"""What is wrong with a campaign file, said so that it can be put right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where (``file:line`` or ``--set ...``), which key, what."""

    origin: str
    key: str
    text: str

    def __str__(self) -> str:
        """``file:line: key: text``."""
        return ": ".join(part for part in (self.origin, self.key, self.text) if part)


class CampaignError(Exception):
    """A campaign that cannot be run; ``problems`` has all that was found, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
