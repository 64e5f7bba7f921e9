"""A mutant: ``<P, e, e', n>`` of the paper."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field

from fuzztui.engines.instrument.markers import placed
from fuzztui.engines.instrument.units import Code
from fuzztui.engines.mutants.infection import Watch
from fuzztui.engines.mutants.operators import Mutation
from fuzztui.engines.mutants.recompile import Slots
from fuzztui.engines.mutants.sites import Point
from fuzztui.engines.mutants.text import Cut, ModuleText, Region, one_line
from fuzztui.engines.mutants.units import Unit

_F_STRINGS_HAVE_POSITIONS = sys.version_info >= (3, 12)


@dataclass(slots=True, eq=False)
class PythonMutant:
    """One mutation of one expression of the program."""

    index: int
    """Index in :attr:`Program.mutants`; valid in this process only."""
    id: str
    """``module:scope:operator:ordinal:variant``: unchanged when unrelated code changes."""
    module: str
    file: str
    """The file as shown to users: ``package/module.py``."""
    path: str
    line: int
    column: int
    """From 1, in characters."""
    end_line: int
    end_column: int
    """The column after the expression."""
    function: str
    """The innermost function or class around the expression, or ``<module>``."""
    operator: str
    before: str
    after: str
    hash: str
    """Hash of the scope's syntax tree, 12 hex digits: results of another version are stale."""
    static: bool
    """Whether it is in code that runs at import, so that it cannot be swapped in."""
    unit: Unit | None
    point: int = -1
    """Number of the point, which is shared by all mutations of one node."""
    change: int = 0
    """Index among the mutations of the point."""
    watch: Watch | None = None
    code: Code | None = field(default=None, repr=False)
    """The compiled code; None until the mutant is entered for the first time."""

    @property
    def ran_at_import(self) -> bool:
        """Whether its code ran when the program was imported.

        Swapped in later, the mutant cannot show what it changes there. Decorators and helpers of
        module-level tables are live functions of this kind; the code of static mutants always is.
        """
        return self.unit is None or self.unit.ran_at_import

    @property
    def unrestored(self) -> bool:
        """Whether its code runs only once in a process, because what it makes cannot be put back.

        It must not run in a process that has run inputs.
        """
        return self.unit is not None and self.unit.unrestored


@dataclass(slots=True, eq=False)
class PointInfo:
    """A point's unit (None: code that runs at import) and its mutants' indices."""

    unit: Unit | None
    mutants: list[int]


def mutated_node(change: Mutation, node: ast.AST) -> ast.AST:
    """The mutated node, with the source position of the original node."""
    return placed(change.make(), node)


def region_of(text: ModuleText, point: Point) -> Region:
    """The place of the expression; of the whole f-string if its parts have no positions."""
    if point.text is not None and not _F_STRINGS_HAVE_POSITIONS:
        return text.region(point.text)
    return text.region(point.node)


def before_and_after(text: ModuleText, point: Point, change: Mutation) -> tuple[str, str]:
    """The expression before and after, each on one line."""
    node = point.node
    if point.text is not None and not _F_STRINGS_HAVE_POSITIONS:
        # Positions inside an f-string are not reliable before Python 3.12.
        return one_line(ast.unparse(node)), one_line(ast.unparse(mutated_node(change, node)))
    return one_line(text.of(node)), one_line(text.changed(node, change.cuts(text)))


def cuts(text: ModuleText, point: Point, change: Mutation) -> list[Cut]:
    """The mutation as edits of the source; of the whole f-string if its parts have no positions."""
    if point.text is None or _F_STRINGS_HAVE_POSITIONS:
        return list(change.cuts(text))
    Slots(point.text).put(point.node, mutated_node(change, point.node))
    return [Cut(*text.span(point.text), ast.unparse(point.text))]
