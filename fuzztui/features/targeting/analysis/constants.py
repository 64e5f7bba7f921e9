"""Find constants of the application that inputs may need: strings, bytes and integers.

The paper's "magic strings" (III-B), and what a Python prototype needed in addition: integers, and
how a constant is used.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from fuzztui.features.targeting.analysis.document import AnalysedConstant

_LONGEST: Final = 1024
"""Maximum length of a constant: longer texts are queries, templates or messages."""

_COMPARISONS: Final = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_TYPES = ("annotation", "returns", "type_params")


def constants(
    tree: ast.Module, shown: str, reached: Collection[ast.AST]
) -> Iterator[AnalysedConstant]:
    """Yield each occurrence of a constant in a module.

    ``shown``: the file's name in locations. Functions that are not in ``reached``, docstrings and
    annotations are left out.
    """
    for node, context in _walk(tree, "other", reached):
        value = node.value
        kept = type(value) is int or (isinstance(value, str | bytes) and len(value) <= _LONGEST)
        if kept:
            assert isinstance(value, str | bytes | int)
            yield AnalysedConstant(value, context, f"{shown}:{node.lineno}")


def _walk(
    node: ast.AST, context: str, reached: Collection[ast.AST]
) -> Iterator[tuple[ast.Constant, str]]:
    if isinstance(node, ast.Constant):
        yield node, context
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring, or a statement without effect
    if isinstance(node, _FUNCTIONS) and node not in reached:
        return
    for name, field in ast.iter_fields(node):
        if name in _TYPES:
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield from _walk(child, _context(node, name, context), reached)


def _context(node: ast.AST, field: str, context: str) -> str:
    """Return how a constant below ``node`` is used: ``==``, ``in``, a method's name, ..."""
    if isinstance(node, ast.Compare):
        return _COMPARISONS.get(type(node.ops[0]), "==")
    if isinstance(node, ast.Call):
        function = node.func
        if field == "func":
            return "other"
        return function.attr if isinstance(function, ast.Attribute) else "argument"
    if isinstance(node, ast.Subscript):
        return "subscript" if field == "slice" else "other"
    if isinstance(node, ast.match_case):
        return "case" if field == "pattern" else "other"
    if isinstance(node, ast.Dict):
        return "key" if field == "keys" else context
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return "="
    if isinstance(node, ast.Return):
        return "return"
    if isinstance(node, ast.stmt | ast.BinOp | ast.JoinedStr):
        return "other"
    return context
