"""Rows about source files, and about what was covered when."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source file of the target (:class:`~fuzztui.kernel.wire.events.SourceFile`), by its path.

    ``seq``: of the record with its present content; coverage in earlier records is void.
    """

    key: str
    seq: int
    module: str = ""
    sha: str = ""
    statements: str = ""
    functions: list[str] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CoverageStep:
    """Lines and branches that one entry was the first in its instance to cover.

    ``key``: the sequence number of the record. ``entry``: the entry's id; -1: on import.
    """

    key: str
    instance: str
    entry: int
    t: float
    lines: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
