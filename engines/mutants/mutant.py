"""A mutant: ``<P, e, e', n>`` of the paper."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field

from fuzztui.engines.instrument.markers import placed
from fuzztui.engines.mutants.infection import Watch
from fuzztui.engines.mutants.operators import Mutation
from fuzztui.engines.mutants.recompile import Slots
from fuzztui.engines.mutants.sites import Point
from fuzztui.engines.mutants.text import Cut, ModuleText, one_line
from fuzztui.engines.mutants.units import Code, Unit

__all__ = ["PointInfo", "PythonMutant", "cuts", "made", "words"]

_F_STRINGS_HAVE_PLACES = sys.version_info >= (3, 12)


@dataclass(slots=True, eq=False)
class PythonMutant:
    """One mutation of one expression of the program."""

    index: int
    """Dense, in this process only: its place in :attr:`Program.mutants`."""
    id: str
    """``module:scope:operator:ordinal:variant``: lasts while unrelated code changes."""
    module: str
    file: str
    """As people see it: ``package/module.py``."""
    path: str
    line: int
    function: str
    """The innermost function or class that it is in, or ``<module>``."""
    operator: str
    before: str
    after: str
    hash: str
    """12 hex digits of its scope's tree: what was found out of another version is stale."""
    static: bool
    """It is in code that runs at import, so it cannot be swapped in."""
    unit: Unit | None
    point: int = -1
    """Number of its point, the same for all changes of one node."""
    change: int = 0
    """Which of the changes of its point it is."""
    watch: Watch | None = None
    code: Code | None = field(default=None, repr=False)
    """Compiled, once it was entered."""


@dataclass(slots=True, eq=False)
class PointInfo:
    """A point's unit (None: code that runs at import) and its mutants' indices."""

    unit: Unit | None
    mutants: list[int]


def made(change: Mutation, node: ast.AST) -> ast.AST:
    """The mutated node, at the place of the original."""
    return placed(change.make(), node)


def words(text: ModuleText, point: Point, change: Mutation) -> tuple[str, str]:
    """The expression before and after, each on one line."""
    node = point.node
    if point.text is not None and not _F_STRINGS_HAVE_PLACES:
        # Positions inside an f-string are not to be relied on.
        return one_line(ast.unparse(node)), one_line(ast.unparse(made(change, node)))
    return one_line(text.of(node)), one_line(text.changed(node, change.cuts(text)))


def cuts(text: ModuleText, point: Point, change: Mutation) -> list[Cut]:
    """The change as edits of the source; of the whole f-string, where that has no places."""
    if point.text is None or _F_STRINGS_HAVE_PLACES:
        return list(change.cuts(text))
    Slots(point.text).put(point.node, made(change, point.node))
    return [Cut(*text.span(point.text), ast.unparse(point.text))]
