"""A validated campaign: what the rest of fuzztui works with."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign file with every default filled in and every path absolute.

    ``target`` and ``engine`` are the tables of those names with units resolved
    (seconds, bytes, absolute paths): what goes into an engine's ``spec.json``.
    A budget or stop condition of 0 is none.
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
    """The engine, ``[engine] kind``."""
    instances: int
    target: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    stop_edges_s: float = 0.0
    mutants: dict[str, Any] = field(default_factory=dict)
    """The table of that name, if the campaign fuzzes mutants first, then the target."""
    text: dict[str, Any] = field(default_factory=dict)
    """The table of that name, if inputs are mutated as text; its three parts add to 1."""
    oracle: dict[str, Any] = field(default_factory=dict)
    """The table of that name, if more than crashes and hangs are bugs."""
    slot: str = ""
    """Of a campaign that is a part of another: the mutant's turn that it is (``m7``)."""

    @property
    def subject(self) -> str:
        """What is fuzzed, in a few words: the function, or the command line."""
        if "command" not in self.target:
            return str(self.target.get("function", ""))
        program, *arguments = self.target["command"]
        return shlex.join([Path(program).name, *arguments])

    @property
    def build_directory(self) -> Path:
        """Where a target that is given as source is built."""
        return self.output / "build"
