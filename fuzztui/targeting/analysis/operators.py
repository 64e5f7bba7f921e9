"""Operators, indices, loops and ``with``: implicit calls of the application's methods.

``a + b`` is a call of ``__add__``, one step of computation, if ``a`` may be an instance of one of
the application's classes according to mypy.
"""

from __future__ import annotations

import ast

from fuzztui.targeting.analysis.definitions import Function
from fuzztui.targeting.analysis.graph import NOTHING
from fuzztui.targeting.analysis.places import span
from fuzztui.targeting.analysis.values import Values

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_UNARY = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
_COMPARED = {
    ast.Eq: ("__eq__", "__eq__"), ast.NotEq: ("__ne__", "__ne__"), ast.Lt: ("__lt__", "__gt__"),
    ast.LtE: ("__le__", "__ge__"), ast.Gt: ("__gt__", "__lt__"), ast.GtE: ("__ge__", "__le__"),
}  # fmt: skip
"""The left operand's method, and the right operand's if the left class has none."""
_BUILTINS = {
    "len": "__len__", "bool": "__bool__", "str": "__str__", "repr": "__repr__", "int": "__int__",
    "float": "__float__", "bytes": "__bytes__", "hash": "__hash__", "abs": "__abs__",
    "iter": "__iter__", "next": "__next__",
}  # fmt: skip


class OperatorFlow(Values):
    """Adds expressions that call special methods."""

    def _special(
        self, at: int, node: ast.expr, methods: str | tuple[str, ...], *given: int
    ) -> bool:
        """Add a call at ``at`` of the first of ``methods`` that the object has; False if none."""
        methods = (methods,) if isinstance(methods, str) else methods
        found: dict[int, Function] = {}
        for name in self._flow.types.instances.get(self._module, {}).get(span(node), ()):
            special = (self._flow.special(name, method) for method in methods)
            found |= {f.number: f for f in next(filter(None, special), [])}
        for f in found.values():
            values = [self.expr(node), *given]
            self._enter(at, f, list(zip(f.positional, values, strict=False)))
        if found:
            self._asked.add(at)
        return bool(found)

    def _BinOp(self, node: ast.BinOp) -> int:
        at = self._other(node)
        self._binary(at, node.left, node.op, node.right)
        return at

    def _binary(self, at: int, left: ast.expr, op: ast.operator, right: ast.expr) -> bool:
        name = _BINARY[type(op)]
        return self._special(at, left, f"__{name}__", self.expr(right)) or self._special(
            at, right, f"__r{name}__", self.expr(left)
        )

    def _in_place(self, node: ast.AugAssign) -> int:
        """Return the node of the value that ``+=`` and similar operators assign."""
        target, value = node.target, self.expr(node.value)
        at = self._graph.add(owner=self._owner())
        in_place = f"__i{_BINARY[type(node.op)]}__"
        found = self._special(at, target, in_place, value) or self._binary(
            at, target, node.op, node.value
        )
        if not found:
            return value
        self._graph.link(at, value, 0)
        return at

    def _UnaryOp(self, node: ast.UnaryOp) -> int:
        at = self._other(node)
        if isinstance(node.op, ast.Not):
            self._truth(at, node.operand)
        else:
            self._special(at, node.operand, _UNARY[type(node.op)])
        return at

    def _truth(self, at: int, node: ast.expr) -> bool:
        return self._special(at, node, ("__bool__", "__len__"))

    def _Compare(self, node: ast.Compare) -> int:
        at = self._other(node)
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                self._special(at, right, ("__contains__", "__iter__"), self.expr(left))
            elif type(op) in _COMPARED:
                asked, other = _COMPARED[type(op)]
                of_left = self._special(at, left, asked, self.expr(right))
                if not of_left and not (asked == "__ne__" and self._same(at, left, right)):
                    self._special(at, right, other, self.expr(left))
            left = right
        return at

    def _same(self, at: int, left: ast.expr, right: ast.expr) -> bool:
        """Add ``!=`` of a class that only defines ``==``."""
        return self._special(at, left, "__eq__", self.expr(right))

    def _Subscript(self, node: ast.Subscript) -> int:
        at = self._other(node)
        self._special(at, node.value, "__getitem__", self.expr(node.slice))
        return at

    def _builtin(self, at: int, node: ast.Call) -> None:
        """Add a call of a builtin that calls a special method of its argument."""
        if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS and node.args:
            self._special(at, node.args[0], _BUILTINS[node.func.id])

    def _iterated(self, node: ast.expr) -> int:
        """Return the node of an iterable, on which its elements depend."""
        at = self.expr(node)
        made = self._graph.add(owner=self._owner())
        found = self._special(made, node, ("__iter__", "__aiter__", "__getitem__"))
        found |= self._special(made, node, ("__next__", "__anext__"))
        if not found:
            return at
        self._graph.link(made, at, 0)
        return made

    def _entered(self, node: ast.expr) -> int:
        """Return the node of the value that ``with`` binds; its exit may raise."""
        at = self.expr(node)
        made = self._graph.add(owner=self._owner())
        end = self._graph.add(owner=self._owner())
        self._special(end, node, ("__exit__", "__aexit__"), NOTHING, NOTHING, NOTHING)
        if not self._special(made, node, ("__enter__", "__aenter__")):
            return at
        self._graph.link(made, at, 0)
        return made
