"""Static facts about an expression: its kind of value, if the syntax alone proves it."""

from __future__ import annotations

import ast
from typing import Final

from fuzztui.engines.mutants.infection import empty_of

_DISPLAYS: Final = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.Set)
_PREDICATES: Final = frozenset(
    {"isinstance", "issubclass", "hasattr", "callable", "bool", "any", "all"}
)


def is_sequence(node: ast.AST) -> bool:
    """Whether the value is certainly a string, bytes or a container, hence not a number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Mult):
            return is_sequence(node.left) or is_sequence(node.right)
        return isinstance(node.op, ast.Mod) and is_sequence(node.left)
    return isinstance(
        node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple | ast.Dict | ast.Set
    )


def is_boolean(node: ast.expr) -> bool:
    """Whether the value is certainly True or False."""
    if isinstance(node, ast.BoolOp):
        return all(is_boolean(v) for v in node.values)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _PREDICATES
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.Constant) and isinstance(node.value, bool)
    )


def empty_literal(node: ast.expr) -> str | None:
    """The literal of the empty value of the expression's type.

    An empty string if the type is unknown; None if the type has no empty value.
    """
    if isinstance(node, ast.Constant):
        empty = empty_of(node.value)
        return None if empty is None else repr(empty)
    if isinstance(node, ast.Lambda | ast.GeneratorExp):
        return None
    if isinstance(node, ast.Name) and node.id in ("self", "cls"):
        return None
    displays: dict[type[ast.expr], str] = {
        **{ast.JoinedStr: "''", ast.List: "[]", ast.ListComp: "[]", ast.Tuple: "()"},
        **{ast.Dict: "{}", ast.DictComp: "{}", ast.Set: "set()", ast.SetComp: "set()"},
    }
    return displays.get(type(node), "")


def is_empty(node: ast.expr) -> bool:
    """Whether the expression already is the empty value of its type."""
    if isinstance(node, ast.Constant):
        return not node.value
    return (isinstance(node, ast.List | ast.Tuple) and not node.elts) or (
        isinstance(node, ast.Dict) and not node.keys
    )
