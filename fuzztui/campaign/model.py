"""A validated campaign, as the rest of fuzztui uses it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign file with every default filled in and every path absolute.

    ``target`` and ``engine`` are the tables of the same names with units resolved
    (seconds, bytes, absolute paths), as they are written to an engine's ``spec.json``.
    A budget or stop condition of 0 means no limit.
    """

    file: Path
    name: str
    output: Path
    seed: int
    budget_s: float
    budget_trials: int
    stop_crashes: int
    stop_idle_s: float
    kind: str
    """The engine kind, ``[engine] kind``."""
    instances: int
    target: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    stop_edges_s: float = 0.0
    mutants: dict[str, Any] = field(default_factory=dict)
    """The table ``[mutants]`` of a fuzz-first campaign; otherwise empty."""
    text: dict[str, Any] = field(default_factory=dict)
    """The table ``[text]``, if inputs are mutated as text; its three probabilities add to 1."""
    oracle: dict[str, Any] = field(default_factory=dict)
    """The table ``[oracle]``, if there are bugs in addition to crashes and hangs."""
    slot: str = ""
    """The mutant's turn (``m7``) that this campaign is a part for; empty for a whole campaign."""

    @property
    def subject(self) -> str:
        """The target's short name: the function, or the command line."""
        if "command" not in self.target:
            return str(self.target.get("function", ""))
        program, *arguments = self.target["command"]
        return shlex.join([Path(program).name, *arguments])

    @property
    def build_directory(self) -> Path:
        """The directory in which ``target.build`` is run."""
        return self.output / "build"
