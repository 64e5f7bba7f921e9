"""Find the places of a module that can be mutated, in source order.

A *scope* is compiled as a whole and has one hash. It is a *unit* (an outermost function or lambda
in a module or class body), or code that runs at import, such as one statement of a class body or
the defaults of a function. A *point* is a node of a scope with its mutations. Annotations,
assertions, patterns, ``__all__``, and code for type checkers or scripts only are not mutated.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fuzztui.engines.instrument.fuel import sees_locals
from fuzztui.engines.mutants.operators import PREDICATE, TEST, VALUE, Mutation, MutationOperator

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Shell(NamedTuple):
    """A class around a unit. Private names are mangled with its name; it may have type
    parameters.
    """

    name: str
    type_params: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Point:
    """A node and its mutations.

    ``function``: the qualified name of the innermost function or class around the node.
    ``temporaries``: whether operands can be stored in local variables there.
    ``text``: the f-string around the node if nodes inside it have no positions; else None.
    """

    node: Any
    changes: list[tuple[MutationOperator, Mutation]]
    function: str
    temporaries: bool
    text: ast.expr | None


@dataclass(slots=True, eq=False)
class MutationScope:
    """A scope. ``name`` is unique in the module; ``hash``: 12 hex digits of its tree's hash."""

    node: Any
    name: str
    unit: bool
    shells: tuple[Shell, ...] = ()
    hash: str = ""
    points: list[Point] = field(default_factory=list)


def find_scopes(tree: ast.Module, operators: Sequence[MutationOperator]) -> list[MutationScope]:
    """All units of a module, and its other scopes that have points.

    Raises RecursionError if the module is nested too deeply.
    """
    finder = _Finder(operators)
    finder.statements(tree.body)
    taken: dict[str, int] = {}
    for scope in finder.scopes:  # properties have getters and setters of one name, and so on
        count = taken[scope.name] = taken.get(scope.name, 0) + 1
        if count > 1:
            scope.name += f"#{count}"
    return [s for s in finder.scopes if s.points or s.unit]


def find_unit(node: Function | ast.Lambda, operators: Sequence[MutationOperator]) -> MutationScope:
    """The scope of one unit from its own tree, with the points as in :func:`find_scopes`."""
    finder = _Finder(operators)
    finder.unit(node, "")
    return finder.scopes[0]


class _Finder(ast.NodeVisitor):
    def __init__(self, operators: Sequence[MutationOperator]) -> None:
        self.scopes: list[MutationScope] = []
        self._operators = operators
        self._names: list[str] = []
        self._shells: tuple[Shell, ...] = ()
        self._scope: MutationScope | None = None  # what points go to
        self._in_unit = False
        self._in_comprehension = False
        self._temporaries = False
        self._predicate = False
        self._text: ast.expr | None = None

    # ------------------------------------------------------------------ scopes

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Visit a block; in code that runs at import, each statement is a separate scope."""
        for statement in body:
            if self._in_unit:
                self.visit(statement)
            else:
                self._at_import(statement)

    def _at_import(self, statement: ast.stmt) -> None:
        outer = self._scope
        self._scope = scope = MutationScope(statement, "", unit=False)
        self.scopes.append(scope)
        self.visit(statement)
        if scope.points:
            scope.hash = digest(list(headers(statement)))
            scope.name = ".".join([*self._names, import_name(statement, scope.hash)])
        self._scope = outer

    def unit(self, node: Function | ast.Lambda, known_hash: str | None = None) -> None:
        """Visit an outermost function's body, without defaults and decorators."""
        unit_hash = digest([node]) if known_hash is None else known_hash
        name = lambda_name(unit_hash) if isinstance(node, ast.Lambda) else node.name
        scope = MutationScope(node, ".".join([*self._names, name]), True, self._shells, unit_hash)
        self.scopes.append(scope)
        outer = self._scope, self._in_unit
        self._scope, self._in_unit = scope, True
        self._body(node)
        self._scope, self._in_unit = outer

    def _function(self, node: Function | ast.Lambda) -> None:
        for decorator in getattr(node, "decorator_list", ()):
            self.visit(decorator)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        lambda_in_a_loop = isinstance(node, ast.Lambda) and (self._in_comprehension or self._text)
        if self._in_unit or lambda_in_a_loop:
            self._body(node)
        else:
            self.unit(node)

    def _body(self, node: Function | ast.Lambda) -> None:
        outer = self._temporaries, self._predicate
        if isinstance(node, ast.Lambda):
            self._names.append("<lambda>")
            own = [ast.Expr(node.body)]
            self._temporaries = not self._in_comprehension and not sees_locals([*own])
            self.visit(node.body)
        else:
            self._names.append(node.name)
            self._temporaries = not sees_locals(node.body)
            self._predicate = isinstance(node.returns, ast.Name) and node.returns.id == "bool"
            self.statements(node.body)
        self._names.pop()
        self._temporaries, self._predicate = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part)
        outer = self._shells, self._temporaries
        params = tuple(p.name for p in getattr(node, "type_params", ()))
        self._shells, self._temporaries = (*self._shells, Shell(node.name, params)), False
        self._names.append(node.name)
        self.statements(node.body)
        self._names.pop()
        self._shells, self._temporaries = outer

    def _comprehension(self, node: ast.AST) -> None:
        outer = self._in_comprehension, self._temporaries
        self._in_comprehension, self._temporaries = True, False
        self.generic_visit(node)
        self._in_comprehension, self._temporaries = outer

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit(node.iter)
        for condition in node.ifs:
            self._test(condition)

    # -------------------------------------------------------------- statements

    def visit_If(self, node: ast.If) -> None:
        if not _is_special(node.test):
            self._test(node.test)
            self.statements(node.body)
        self.statements(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self._test(node.test)
        self.statements(node.body)
        self.statements(node.orelse)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.target)
        self.visit(node.iter)
        self.statements(node.body)
        self.statements(node.orelse)

    visit_AsyncFor = visit_For

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item)
        self.statements(node.body)

    visit_AsyncWith = visit_With

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        self.statements(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                self.visit(handler.type)
            self.statements(handler.body)
        self.statements(node.orelse)
        self.statements(node.finalbody)

    visit_TryStar = visit_Try

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        for case in node.cases:
            if case.guard is not None:
                self._test(case.guard)
            self.statements(case.body)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip assertions, which are checks."""

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """Skip type aliases, which are for type checkers."""

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        if names != ["__all__"]:
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        is_alias = ast.unparse(node.annotation).rpartition(".")[2] == "TypeAlias"
        if node.value is not None and not is_alias:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        self._point(node, VALUE)

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        self._point(node, PREDICATE if self._predicate else VALUE)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.generic_visit(node)
        self._point(node, VALUE)

    # ------------------------------------------------------------- expressions

    def _test(self, node: ast.expr) -> None:
        """Visit a condition: its leaves below ``and``, ``or`` and ``not``."""
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self._test(value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._test(node.operand)
        else:
            self.visit(node)
            if not isinstance(node, ast.Compare) and not _is_special(node):
                self._point(node, TEST)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._test(node.test)
        self.visit(node.body)
        self.visit(node.orelse)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._test(node.operand)
            return
        self.visit(node.operand)
        self._point(node, VALUE)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.generic_visit(node)
        if not _is_special(node):
            self._point(node, VALUE)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not _is_union(node):
            self.generic_visit(node)
            self._point(node, VALUE)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        outer = self._text
        self._text = outer or node
        self.generic_visit(node)
        self._text = outer

    def _point(self, node: ast.AST, role: str) -> None:
        looking = [o for o in self._operators if role in o.roles]
        changes = [(o, c) for o in looking for c in o.changes(node, role)]
        if changes and self._scope is not None:
            function = ".".join(self._names) or "<module>"
            point = Point(node, changes, function, self._temporaries, self._text)
            self._scope.points.append(point)


def _is_union(node: ast.expr) -> bool:
    """Whether this is a union of types such as ``list[A] | B``: a part of it is a builtin type."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_union(node.left) or _is_union(node.right)
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return isinstance(getattr(builtins, node.id, None), type)
    return isinstance(node, ast.Constant) and node.value is None


def _is_special(test: ast.expr) -> bool:
    """Whether a condition is ``TYPE_CHECKING``, ``__debug__`` or ``__name__ == "__main__"``."""
    if isinstance(test, ast.Compare):
        names = [n.id for n in (test.left, *test.comparators) if isinstance(n, ast.Name)]
        return names == ["__name__"]
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name in ("TYPE_CHECKING", "__debug__")


def lambda_name(digest: str) -> str:
    """The name of a lambda outside of functions."""
    return f"<lambda-{digest[:4]}>"


def import_name(statement: ast.stmt, digest: str) -> str:
    """The name of a statement that runs at import."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return f"{statement.name}.<header>"
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    if isinstance(targets[0], ast.Name):
        return targets[0].id
    return f"{type(statement).__name__.lower()}-{digest[:4]}"


def digest(nodes: Sequence[ast.AST]) -> str:
    """A hash of the nodes without their positions, 12 hex digits."""
    parts: list[str] = []
    for node in nodes:
        _write(node, parts)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _write(node: ast.AST, parts: list[str]) -> None:
    parts.append(type(node).__name__)
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            _write(value, parts)
        elif isinstance(value, list):
            if value or name != "type_params":  # not a field before Python 3.12
                parts.append("[")
            for item in value:
                if isinstance(item, ast.AST):
                    _write(item, parts)
                else:
                    parts.append(repr(item))
        elif value is not None or name == "value":
            parts.append(repr(value))


def headers(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that belong to its own scope, without nested statements."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from statement.decorator_list
        yield statement.args
    elif isinstance(statement, ast.ClassDef):
        yield from (*statement.decorator_list, *statement.bases, *statement.keywords)
    elif hasattr(statement, "body"):
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.AST):
                yield value
            elif name == "items":
                yield from value
            elif name == "cases":
                yield from (case.guard for case in value if case.guard is not None)
            elif name == "handlers":
                yield from (handler.type for handler in value if handler.type is not None)
    else:
        yield statement
