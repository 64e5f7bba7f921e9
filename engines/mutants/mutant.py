"""A mutant: ``<P, e, e', n>`` of the paper."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fuzztui.engines.instrument.markers import placed
from fuzztui.engines.instrument.units import Code
from fuzztui.engines.mutants.infection import HAVE_EMPTY, Watch, empty_source
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
    excluded: str = ""
    """The reason in the source for which it is never run; an empty string: it is."""
    code: Code | None = field(default=None, repr=False)
    """The compiled code; None until the mutant is entered for the first time."""

    @property
    def described(self) -> dict[str, object]:
        """Where it is, and what it changes, by the names that events and results have."""
        return {
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "function": self.function,
            "operator": self.operator,
            "before": self.before,
            "after": self.after,
        }

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


def exact_cuts(text: ModuleText, tree: ast.Module, point: Point, change: Mutation) -> list[Cut]:
    """The edits of the source whose result means exactly what runs as the mutant.

    These are the first that do so: the edits that lists show, the operator's exact ones, the
    mutated node as text. If none does, the edits that lists show. ``tree``: that of the module,
    which is changed.
    """
    empty = _empty_source(tree)
    slots, around = Slots(tree), point.text or point.node  # parts of an f-string may have labels
    slots.put(point.node, _readable(mutated_node(change, point.node), empty))
    edits: list[Callable[[], Sequence[Cut]]] = [
        lambda: change.cuts(text),
        lambda: change.exact(text, empty) if change.exact else (),
        lambda: [Cut(*text.span(around), _written(slots.now(around)))],
    ]
    for edit in edits:
        # Of f-strings some cannot be written, and parts have wrong positions before Python 3.12.
        with contextlib.suppress(SyntaxError, ValueError, IndexError):
            cuts = list(edit())
            if cuts and ast.dump(ast.parse(text.after(cuts))) == ast.dump(tree):
                return cuts
    return list(change.cuts(text))


def _written(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.stmt) else f"({ast.unparse(node)})"


def _empty_source(tree: ast.Module) -> str:
    """The source of ``empty_of`` in a module, which may use the names of builtins otherwise."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif not isinstance(node, ast.keyword):  # functions, classes, arguments, patterns, handlers
            names |= {getattr(node, key, "") for key in ("arg", "name", "rest")}
    known = {"type", "any", "*", *(kind.__name__ for kind in HAVE_EMPTY)}
    return empty_source("__import__('builtins')." if names & known else "")


def _readable(node: ast.AST, empty: str) -> ast.AST:
    """Replace the engine's object that makes the empty value of any type, if it is called."""
    value = getattr(node, "value", None)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Constant):
        value.func = ast.parse(empty, mode="eval").body
    return node
