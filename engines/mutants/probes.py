"""Insert probes into a unit's instrumented syntax tree, in front of the original expressions.

The original expressions remain and are evaluated once:

* ``a < b`` becomes ``watches.at[7] and watches.at[7](a, b) or a < b``; operands that are not just a
  name or a constant are kept in local variables. A watch is ``None`` after it has seen infection.
* if local variables cannot be used or there is no watch: ``hit(7) or a < b``.
"""

from __future__ import annotations

import ast
from typing import Any

from fuzztui.engines.instrument.markers import marker, placed
from fuzztui.engines.mutants.recompile import Slots
from fuzztui.engines.mutants.sites import Point

NO_OPERAND = object()
"""An object that is no operand (the marker ``nobody``)."""


def put_probe(slots: Slots, number: int, point: Point, *, watched: bool) -> None:
    """Insert the probe of point ``number``; ``watched``: with a watch, if one is possible.

    Must be called for the points of a unit in their order: inner points first.
    """
    node = point.node
    if isinstance(node, ast.stmt):
        _probe_statement(number, point, watched=watched)
    else:
        slots.put(node, _probed_expression(number, point, slots.now(node), watched=watched))


def _probe_statement(number: int, point: Point, *, watched: bool) -> None:
    """``return e``, ``x += e`` and ``f(e)``: insert the probe before or around ``e``."""
    node: Any = point.node
    value: ast.expr = node.value
    if watched and isinstance(node, ast.Return) and point.temporaries:
        keep, seen = _kept([value], number)
        node.value = _either([*keep, _call(number, seen)], seen[0], value)
    else:
        node.value = _either([_hit(number)], value, value)


def _probed_expression(number: int, point: Point, value: ast.expr, *, watched: bool) -> ast.expr:
    """``value``: the point's node, maybe already inside the probe of another point."""
    node: Any = point.node
    if not watched:
        return _either([_hit(number)], value, node)
    fields = {ast.Compare: ("left",), ast.BinOp: ("left", "right"), ast.UnaryOp: ("operand",)}
    names = fields[type(node)]
    operands = [getattr(node, name) for name in names]
    if isinstance(node, ast.Compare):
        operands.append(node.comparators[0])
    if not point.temporaries and not _all_simple(operands):
        return _either([_hit(number)], value, node)
    keep, seen = _kept(operands, number)
    for name, operand in zip(names, seen, strict=False):
        setattr(node, name, operand)
    if isinstance(node, ast.Compare):
        node.comparators = [seen[1]]
    return _either([*keep, _call(number, seen)], value, node)


def _all_simple(operands: list[ast.expr]) -> bool:
    return all(isinstance(o, ast.Constant | ast.Name) for o in operands)


def _kept(operands: list[ast.expr], number: int) -> tuple[list[ast.expr], list[ast.expr]]:
    """Expressions (all false) that evaluate and store the operands, and expressions to read them.

    A name may be read twice only if nothing else is evaluated in between.
    """
    keep: list[ast.expr] = []
    seen: list[ast.expr] = []
    for i, operand in enumerate(operands):
        if isinstance(operand, ast.Constant) or _all_simple(operands[i:]):
            seen.append(operand)
            continue
        name = f".{number}.{i}"  # not an identifier, so not a name of the program
        stored = placed(ast.NamedExpr(ast.Name(name, ast.Store()), operand), operand)
        test = ast.Compare(stored, [ast.Is()], [marker("nobody")])
        keep.append(placed(test, operand))
        seen.append(placed(ast.Name(name, ast.Load()), operand))
    return keep, seen


def _either(before: list[ast.expr], value: ast.expr, at: ast.AST) -> ast.expr:
    """``before or value``; all of ``before`` are false, so the result is ``value``."""
    return placed(ast.BoolOp(ast.Or(), [*(placed(b, at) for b in before), value]), at)


def _hit(number: int) -> ast.expr:
    return ast.Call(marker("hit"), [ast.Constant(number)], [])


def _call(number: int, operands: list[ast.expr]) -> ast.expr:
    """``watches.at[k] and watches.at[k](a, b)``; ``b`` is None if there is one operand."""
    watch: list[ast.expr] = [
        ast.Subscript(
            ast.Attribute(marker("watches"), "at", ast.Load()),
            ast.Constant(number),
            ast.Load(),
        )
        for _ in range(2)
    ]
    copies: list[ast.expr] = [
        ast.Constant(o.value) if isinstance(o, ast.Constant) else ast.Name(o.id, ast.Load())  # type: ignore[attr-defined]
        for o in operands
    ]
    if len(copies) == 1:
        copies.append(ast.Constant(None))
    return ast.BoolOp(ast.And(), [watch[0], ast.Call(watch[1], copies, [])])
