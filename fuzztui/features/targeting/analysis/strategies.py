"""Determine the types that Hypothesis strategies make, from their source."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from fuzztui.features.targeting.analysis.definitions import parameters
from fuzztui.features.targeting.analysis.overlay import by_full_names, functions_of, imported

_MAKE: Final = {
    "dates": "datetime.date",
    "datetimes": "datetime.datetime",
    "times": "datetime.time",
    "timedeltas": "datetime.timedelta",
    "decimals": "decimal.Decimal",
    "fractions": "fractions.Fraction",
    "uuids": "uuid.UUID",
    "ip_addresses": "ipaddress.IPv4Address | ipaddress.IPv6Address",
}
_CONTAINERS: Final = {
    "lists": "list",
    "sets": "set",
    "frozensets": "frozenset",
    "iterables": "list",
}
_DEPTH: Final = 8


def given_types(tree: ast.Module, module: str, function: str) -> dict[str, str]:
    """Return the known types of parameters of a test with ``@given``, as full names."""
    for name, node, _ in functions_of(tree):
        if name != function:
            continue
        made = _Made(tree, module)
        own = [p.arg for p in parameters(node.args)]
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and _last(call.func) == "given":
                # Positional strategies are for the rightmost parameters.
                pairs = dict(zip(reversed(own), reversed(call.args), strict=False))
                pairs |= {k.arg: k.value for k in call.keywords if k.arg}
                found = {p: made.type_of(e) for p, e in pairs.items()}
                return {p: words for p, words in found.items() if words}
    return {}


def made_type(tree: ast.Module, module: str, name: str) -> str:
    """Return the type that a strategy or class of this name makes, as full name; "": unknown."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return f"{module}.{name}"
    return _Made(tree, module).type_of(ast.Name(name, ast.Load()))


class _Made:
    def __init__(self, tree: ast.Module, module: str) -> None:
        self._imported: Mapping[str, str] = imported(tree, module)
        self._values: dict[str, ast.expr] = {}
        self._returned: dict[str, ast.expr | None] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._values[node.targets[0].id] = node.value
            elif isinstance(node, ast.FunctionDef):
                self._returned[node.name] = node.returns

    def type_of(self, strategy: ast.expr, depth: int = _DEPTH) -> str:
        """Return the type that a strategy makes; "": unknown."""
        if depth == 0:
            return ""
        if isinstance(strategy, ast.Name):
            value = self._values.get(strategy.id)
            return "" if value is None else self.type_of(value, depth - 1)
        if isinstance(strategy, ast.BinOp) and isinstance(strategy.op, ast.BitOr):
            return self._union([strategy.left, strategy.right], depth)
        if not isinstance(strategy, ast.Call):
            return ""
        name, arguments = _last(strategy.func), strategy.args
        if name in _MAKE:
            return _MAKE[name]
        if name == "one_of":
            return self._union(arguments, depth)
        if name == "none":
            return "None"
        if name == "filter" and isinstance(strategy.func, ast.Attribute):
            return self.type_of(strategy.func.value, depth - 1)
        if isinstance(strategy.func, ast.Name) and strategy.func.id in self._returned:
            returned = self._returned[strategy.func.id]  # with @composite
            return "" if returned is None else self._full(returned)
        if not arguments:
            return ""
        if name in ("builds", "from_type"):
            words = self._full(arguments[0])
            return words if "." in words and "(" not in words else ""
        inner = ""
        if name in _CONTAINERS or name == "recursive":
            inner = self.type_of(arguments[0], depth - 1)
        if name == "recursive":
            return f"{inner} | typing.Any" if inner else ""
        return f"{_CONTAINERS[name]}[{inner}]" if inner else ""

    def _union(self, options: list[ast.expr], depth: int) -> str:
        words = [self.type_of(option, depth - 1) for option in options]
        if not any(words):
            return ""
        return " | ".join(dict.fromkeys(w or "typing.Any" for w in words))

    def _full(self, annotation: ast.expr) -> str:
        return by_full_names(annotation, self._imported)


def _last(function: ast.expr) -> str:
    """Return ``lists`` for ``st.lists``."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
