"""An application's functions, which of them are reached, scopes of names, positions of nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzztui.features.targeting.analysis.graph import Graph

Span = tuple[int, int, int, int]
"""Line (from 1) and column (from 0, in UTF-8 bytes) of the start and the end."""

Key = tuple[str, Span]
"""A decision: its node class (``operand``: an operand of and/or) and its position."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_PROPERTIES = frozenset({"property", "cached_property"})


@dataclass(slots=True)
class Function:
    """A function, with the graph's nodes of its parameters and results."""

    number: int
    name: str
    """Full name: ``package.module.Class.method``."""
    node: FunctionNode
    result: int
    raised: int
    """Node of what decides whether the function raises."""
    positional: list[int]
    named: dict[str, int]
    """Nodes of the parameters by name, except ``*args`` and ``**kwargs``."""
    rest: list[int]
    """Nodes of ``*args`` and ``**kwargs``."""
    bound: bool = False
    """Whether the first parameter is the object or class on which the function is called."""
    is_class_method: bool = False
    is_property: bool = False
    is_stub: bool = False
    """Whether the body does nothing, as in protocols and abstract methods."""

    @property
    def formals(self) -> list[int]:
        """Nodes of all parameters, without the object or class of a bound method."""
        keywords = (node for node in self.named.values() if node not in self.positional)
        return [*self.positional[self.bound :], *keywords, *self.rest]


@dataclass(frozen=True, slots=True)
class Condition:
    """The operands of a decision, and the function that contains it."""

    operands: list[int]
    function: Function | None


@dataclass(slots=True)
class NameScope:
    """A scope of names. ``owner``: the number of the function; -1: a module or class."""

    prefix: str
    owner: int
    bound: frozenset[str]
    outer: NameScope | None = None
    is_class: bool = False
    elsewhere: dict[str, bool] = field(default_factory=dict)
    """Names declared here as global (True) or nonlocal."""

    def find(self, name: str) -> NameScope | None:
        """Return the scope that binds a name used here; None: a builtin, or the module."""
        scope: NameScope | None = self
        while scope is not None:
            if scope.elsewhere.get(name):
                while scope.outer is not None:
                    scope = scope.outer
                return scope
            visible = scope is self or not scope.is_class
            if visible and name in scope.bound and name not in scope.elsewhere:
                return scope
            scope = scope.outer
        return None


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes below, including nested functions and classes but not their content."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from own_nodes(child)


def binds(body: Sequence[ast.AST]) -> tuple[frozenset[str], dict[str, bool]]:
    """Return the names that statements bind in their scope, and global and nonlocal names."""
    bound: set[str] = set()
    elsewhere: dict[str, bool] = {}
    for node in body:
        for item in [node, *(() if isinstance(node, _SCOPES) else own_nodes(node))]:
            if isinstance(item, ast.Global | ast.Nonlocal):
                elsewhere |= dict.fromkeys(item.names, isinstance(item, ast.Global))
            elif isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
                bound.add(item.id)
            elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                bound.add(item.name)
            elif isinstance(item, ast.alias):
                bound.add(item.asname or item.name.partition(".")[0])
            elif isinstance(item, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
                bound.add(item.name or "")
            elif isinstance(item, ast.MatchMapping):
                bound.add(item.rest or "")
    return frozenset(bound), elsewhere


def parameters(args: ast.arguments) -> Iterator[ast.arg]:
    """Yield all parameters, in the order of the signature."""
    yield from args.posonlyargs
    yield from args.args
    yield from filter(None, [args.vararg])
    yield from args.kwonlyargs
    yield from filter(None, [args.kwarg])


def define(
    graph: Graph, number: int, name: str, node: FunctionNode, prefix: str, *, in_class: bool
) -> Function:
    """Add a function's nodes. ``prefix``: of the names in its scope."""
    args = node.args
    nodes = {a.arg: graph.named(prefix + a.arg, owner=number) for a in parameters(args)}
    stars = [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    decorators = {_last_name(d) for d in getattr(node, "decorator_list", [])}
    return Function(
        number=number,
        name=name,
        node=node,
        result=graph.add(owner=number),
        raised=graph.add(owner=number),
        positional=[nodes[a.arg] for a in (*args.posonlyargs, *args.args)],
        named={n: at for n, at in nodes.items() if n not in stars},
        rest=[nodes[n] for n in stars],
        bound=in_class and "staticmethod" not in decorators and bool(args.posonlyargs or args.args),
        is_class_method="classmethod" in decorators or name.endswith(".__new__"),
        is_property=bool(decorators & _PROPERTIES),
        is_stub=isinstance(node.body, list) and all(map(_says_nothing, node.body)),
    )


def _says_nothing(node: ast.stmt) -> bool:
    """Whether a statement is ``...``, a docstring, or ``raise NotImplementedError``."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Raise) and node.exc is not None:
        return _last_name(node.exc) == "NotImplementedError"
    return False


def _last_name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def span(node: ast.AST) -> Span:
    """Return the position of an expression or statement."""
    at: Any = node
    return at.lineno, at.col_offset, at.end_lineno or at.lineno, at.end_col_offset or at.col_offset


def key(node: ast.AST) -> Key:
    """Return the key of a decision, equal in all trees of the same source."""
    return type(node).__name__, span(node)


def reached(
    functions: Iterable[Function], trees: Mapping[str, ast.Module], entry: str
) -> frozenset[ast.AST]:
    """Return the nodes of the functions that are reached from ``entry``, a full name.

    Coarse on purpose, because the constants and goals of a missed function would be lost: a
    function counts as reached if reached code mentions its last name, even for another object, and
    all methods do if reached code calls ``getattr`` with a computed name. Returns all functions if
    ``entry`` does not exist. Code that runs at import is reached.
    """
    by_name: dict[str, list[Function]] = {}
    every = list(functions)
    todo: list[ast.AST] = []
    for f in every:
        last = getattr(f.node, "name", "<lambda>")
        by_name.setdefault(last, []).append(f)
        special = last.startswith("__") and last.endswith("__")
        if f.name == entry or special or last.startswith("<"):
            todo.append(f.node)
    if not any(f.name == entry for f in every):
        return frozenset(f.node for f in every)
    found: set[ast.AST] = set(todo)
    todo += trees.values()
    while todo:
        names, dynamic = _mentioned(todo.pop())
        wanted = [f for name in names for f in by_name.get(name, [])]
        if dynamic:
            wanted += [f for f in every if f.bound]
        for f in wanted:
            if f.node not in found:
                found.add(f.node)
                todo.append(f.node)
    return frozenset(found)


def _mentioned(node: ast.AST) -> tuple[set[str], bool]:
    """Return the names in a function or module, and whether some are computed at run time."""
    names: set[str] = set()
    dynamic = False
    for child in own_nodes(node):
        parts = [child]
        if isinstance(child, ast.ClassDef):  # a class body runs with the code around it
            parts += own_nodes(child)
        for part in parts:
            if isinstance(part, ast.Name):
                names.add(part.id)
            elif isinstance(part, ast.Attribute):
                names.add(part.attr)
            elif isinstance(part, ast.alias):
                names.add(part.name.rpartition(".")[2])
            if isinstance(part, ast.Call) and getattr(part.func, "id", "") == "getattr":
                named = len(part.args) > 1 and isinstance(part.args[1], ast.Constant)
                if named:
                    names.add(str(part.args[1].value))  # type: ignore[attr-defined]
                dynamic |= not named
    return names, dynamic
