"""Fuel: counted loop iterations, a repeatable limit for code that does not end.

A loop counts its iterations in a local variable, and reports each :data:`FUEL_PERIOD` of them to
the guard, which ends a run with too many. Without a local (class bodies), or if the local would
be visible (``locals()``), each iteration is a call.

In the original, only loops that may be endless have fuel. A mutation can make any loop or
recursion endless, so :func:`add_fuel` adds fuel to all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fuzztui.engines.instrument.markers import marker, placed

FUEL_PERIOD: Final = 256
"""Iterations of a loop between two reports to the guard."""

_FUEL_LOCAL: Final = ".fuel"  # not an identifier: cannot collide with a name of the program
_ENDLESS: Final = frozenset({"range", "count", "cycle", "repeat", "iter"})
_SEES_LOCALS: Final = frozenset({"locals", "vars", "dir", "eval", "exec"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Loop = ast.While | ast.For | ast.AsyncFor
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_ENDLESS_LOOPS: Final = (ast.While, ast.AsyncFor)
_SUITES: Final = ("body", "handlers", "orelse", "finalbody", "cases")


def turn(way: str, at: ast.AST) -> list[ast.stmt]:
    """Statements to insert at the start of a loop body. ``way``: "local", "tick", "": none."""
    if way == "tick":
        return [placed(ast.Expr(_tick()), at)]
    if way != "local":
        return []
    count = ast.AugAssign(ast.Name(_FUEL_LOCAL, ast.Store()), ast.Add(), ast.Constant(1))
    full = ast.Compare(ast.Name(_FUEL_LOCAL, ast.Load()), [ast.GtE()], [ast.Constant(FUEL_PERIOD)])
    report = ast.Assign([ast.Name(_FUEL_LOCAL, ast.Store())], ast.Call(marker("fuel"), [], []))
    return [placed(count, at), placed(ast.If(full, [report], []), at)]


def begin_count(at: ast.AST) -> ast.stmt:
    """The first statement of a function with "local" fuel: sets its counter to 0."""
    return placed(ast.Assign([ast.Name(_FUEL_LOCAL, ast.Store())], ast.Constant(0)), at)


def _tick() -> ast.Call:
    return ast.Call(marker("tick"), [], [])


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a block without those of inner scopes, in no order."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if not isinstance(node, _SCOPES):
            yield node
            todo.extend(ast.iter_child_nodes(node))


def own_statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements, handlers and cases among :func:`own_nodes`: a tenth of them."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if not isinstance(node, _SCOPES):
            yield node
            for name in _SUITES:
                todo += getattr(node, name, ())


def way_of(body: list[ast.stmt]) -> str:
    """How the loops of this scope count: as in :func:`turn`; "" if none may be endless."""
    if any(
        isinstance(node, _ENDLESS_LOOPS) or (isinstance(node, ast.For) and is_endless(node.iter))
        for node in own_statements(body)
    ):
        return "tick" if sees_locals(body) else "local"
    return ""


def sees_locals(body: list[ast.stmt]) -> bool:
    """Whether this scope may read its locals."""
    return any(isinstance(n, ast.Name) and n.id in _SEES_LOCALS for n in own_nodes(body))


def is_endless(iterable: ast.expr) -> bool:
    """Whether a loop over this expression may be (nearly) endless."""
    if not isinstance(iterable, ast.Call):
        return False
    name = iterable.func
    called = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
    return called in _ENDLESS


def add_fuel(root: _Function | ast.Lambda) -> None:
    """Add fuel to all loops of a function and of inner functions, and one unit to each call."""
    if isinstance(root, ast.Lambda):
        root.body = placed(ast.BoolOp(ast.Or(), [_tick(), root.body]), root.body)
        return
    scopes: list[_Function | ast.ClassDef] = [root]
    while scopes:
        scope = scopes.pop()
        loops: list[_Loop] = []
        sees_locals = False
        todo: list[ast.AST] = list(scope.body)
        while todo:
            node = todo.pop()
            if isinstance(node, _Function | ast.ClassDef):
                scopes.append(node)
            elif not isinstance(node, ast.Lambda):
                if isinstance(node, _Loop):
                    loops.append(node)
                elif isinstance(node, ast.Name):
                    sees_locals = sees_locals or node.id in _SEES_LOCALS
                todo.extend(ast.iter_child_nodes(node))
        way = "tick" if sees_locals or isinstance(scope, ast.ClassDef) else "local"
        for loop in loops:
            loop.body[:0] = turn(way, loop.body[0])
        if not isinstance(scope, ast.ClassDef):
            _enter(scope, counting=bool(loops) and way == "local")


def _enter(function: _Function, *, counting: bool) -> None:
    """Count a call as ``Guard.tick`` does, but call the guard only once per period."""
    first = function.body[0]
    turns = (
        ast.Attribute(marker("guard"), "_turns", ast.Store()),
        ast.Attribute(marker("guard"), "_turns", ast.Load()),
    )
    full = ast.Compare(turns[1], [ast.GtE()], [ast.Constant(FUEL_PERIOD)])
    head: list[ast.stmt] = [
        placed(ast.AugAssign(turns[0], ast.Add(), ast.Constant(1)), first),
        placed(ast.If(full, [ast.Expr(_tick())], []), first),
    ]
    if counting:
        head.append(begin_count(first))
    after_docstring = int(
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    function.body[after_docstring:after_docstring] = head
