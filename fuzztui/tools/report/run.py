"""What a report of one run is made from: the state, and other files of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fuzztui.kernel.model.state import State
from fuzztui.tools.report.source import ReportedSource

MAX_FINDINGS: Final = 100
"""Groups of findings that a report has in full."""


def short_target(target: str) -> str:
    """Return a target without the directory of its file: checkouts are in different places."""
    return target if " " in target else target.rpartition("/")[2] or target


@dataclass(frozen=True, slots=True)
class FindingInput:
    """The input of a finding, and how to run it again."""

    file: str
    """The path of the input, as the user can name it from here."""
    command: str
    """The command line that runs it; an empty string: there is none."""
    content: str = ""
    """The start of the input, for one line."""
    kind: str = ""
    """``text``, ``hexadecimal``, or what a generator made: ``generated``."""
    size: int = -1
    """Bytes of the file; -1: unknown."""


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One run."""

    state: State
    name: str
    """The campaign state's name; ``interrupted`` if the supervisor has ended before it."""
    rows: Sequence[tuple[str, str]]
    """The rows of ``fuzztui status``."""
    damage: str = ""
    """Why records of the log are missing; an empty string: none is."""
    has_history: bool = True
    """Whether the state has series: not for a watched campaign, of which only the present is."""
    inputs: Mapping[str, FindingInput] = field(default_factory=dict)
    """The inputs of the first findings of groups, by key of the finding."""
    keys: Sequence[tuple[str, str]] = ()
    """The keys of the campaign file with their values, without what is private."""
    source: ReportedSource | None = None
    """The files of the target; None: unknown."""
    written: str = ""
    """When the report was made, as text."""
    version: str = ""
    """Of the fuzztui that made it."""

    @property
    def at_least(self) -> str:
        """``"at least "`` if records are missing, else an empty string."""
        return "at least " if self.damage else ""
