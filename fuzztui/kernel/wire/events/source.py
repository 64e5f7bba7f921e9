"""Events about the target's source: its files, and which lines are covered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class SourceFile(Event, kind="source_file", by_engines=True):
    """A source file of the target, as an engine has loaded or built it.

    ``path``: absolute. ``sha``: the first 16 digits of the content's SHA-256; another one for the
    same path makes earlier events about the path void. ``statements``: the first lines of all
    statements (:mod:`fuzztui.kernel.base.ranges`). ``functions``: ``"first-last name"``, outer ones
    first.
    ``blocks``: pairs of numbers, the line of a decision and the line at which one of its blocks
    begins. ``branches``: the line of each branch whose coverage is reported.
    """

    instance: str
    path: str
    module: str = ""
    sha: str = ""
    statements: str = ""
    functions: list[str] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LinesCovered(Event, kind="lines_covered", by_engines=True):
    """Statements and branches that an instance has covered for the first time.

    ``entry``: id of the queue entry that has covered them; -1: they were executed when the target
    was imported. ``lines``: by path, first lines of statements. ``branches``: by path, indexes of
    :attr:`SourceFile.branches`. Both as :mod:`fuzztui.kernel.base.ranges`.
    """

    instance: str
    entry: int = -1
    lines: dict[str, Any] = field(default_factory=dict)
    branches: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoverageBuild(Event, kind="coverage_build"):
    """The progress of the build that measures the lines of a C target.

    ``state``: building, measuring, ready (all entries up to now are measured) or failed;
    ``reason``: why there is none, as text for users. ``tool``: gcov or llvm-cov; an empty string
    in logs of earlier versions, which used gcov, and before it is known.
    """

    state: str
    reason: str = ""
    tool: str = ""
