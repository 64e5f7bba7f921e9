"""Compile one unit separately, with the same result as in the compilation of its module.

The unit is parsed again from its lines, put into empty copies (shells) of the surrounding classes,
and compiled. The shells preserve the meaning of ``super()``, ``__class__``, private names and type
parameters. Defaults and annotations are left out, because they do not belong to the code object; a
decorator is replaced by a constant, because a function's first line is that of its decorator.
"""

from __future__ import annotations

import ast
import sys
from types import CodeType
from typing import Any

from fuzztui.engines.instrument.instrument import LAMBDA, UnitSpan
from fuzztui.engines.instrument.markers import placed
from fuzztui.engines.instrument.units import flatten, outermost
from fuzztui.engines.mutants.sites import Function, Shell
from fuzztui.engines.mutants.text import ModuleText


def parse_unit(text: ModuleText, span: UnitSpan) -> Function | ast.Lambda:
    """The unit's syntax tree, with its positions in the module."""
    if span.name == LAMBDA:
        node = ast.Expr(ast.Constant(None))
        start, end = text.span(_at(node, span))
        source = text.data[start:end].decode("utf-8", "surrogatepass")
        # Inside brackets newlines and blanks have no meaning.
        before = "\n" * (span.line - 1) + " " * (span.column - (span.line == 1))
        expression: Any = ast.parse(f"({before}{source}\n)").body[0]
        return expression.value  # type: ignore[no-any-return]
    source = text.lines(span.line, span.end_line)
    if span.column == 0:
        function: Any = ast.parse("\n" * (span.line - 1) + source).body[0]
    else:
        outer: Any = ast.parse("if 1:" + "\n" * (span.line - 1) + source).body[0]
        function = outer.body[0]
    return function  # type: ignore[no-any-return]


def _at(node: ast.stmt, span: UnitSpan) -> ast.stmt:
    node.lineno, node.col_offset = span.line, span.column
    node.end_lineno, node.end_col_offset = span.end_line, span.end_column
    return node


def strip(node: Function | ast.Lambda, span: UnitSpan) -> None:
    """Remove the parts that are evaluated outside the unit."""
    args = node.args
    args.defaults = []
    args.kw_defaults = [None] * len(args.kwonlyargs)
    if isinstance(node, ast.Lambda):
        return
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    for arg in every:
        if arg is not None:
            arg.annotation = None
    node.returns = None
    node.decorator_list = []
    if span.first_line != span.line:
        decorator = ast.Constant(None)
        decorator.lineno = decorator.end_lineno = span.first_line
        decorator.col_offset = decorator.end_col_offset = 0
        node.decorator_list = [decorator]
    for param in getattr(node, "type_params", ()):
        for name in ("bound", "default_value"):
            if getattr(param, name, None) is not None:
                setattr(param, name, None)


def shelled(node: Function | ast.Lambda, shells: tuple[Shell, ...]) -> ast.Module:
    """A module that contains only the unit, inside shells of its classes."""
    inner: ast.stmt = node if not isinstance(node, ast.Lambda) else placed(ast.Expr(node), node)
    for shell in reversed(shells):
        outer: Any = ast.ClassDef(
            name=shell.name, bases=[], keywords=[], body=[inner], decorator_list=[]
        )
        if sys.version_info >= (3, 12):
            outer.type_params = [ast.TypeVar(name) for name in shell.type_params]
        inner = placed(outer, node)
    return ast.Module([inner], [])


def only_unit(code: CodeType) -> list[CodeType]:
    """The code objects (:func:`flatten`) of the only unit in a :func:`shelled` module."""
    (root,) = outermost(code)
    return flatten(root)


class Slots:
    """For each node of a tree, the field that contains it, so that the node can be replaced."""

    __slots__ = ("_slots",)

    def __init__(self, root: ast.AST) -> None:
        self._slots: dict[int, tuple[Any, str, int]] = {}
        todo = [root]
        while todo:
            parent = todo.pop()
            for name in parent._fields:
                value = getattr(parent, name, None)
                if isinstance(value, ast.AST):
                    self._slots[id(value)] = parent, name, -1
                    todo.append(value)
                elif isinstance(value, list):
                    for i, item in enumerate(value):
                        if isinstance(item, ast.AST):
                            self._slots[id(item)] = parent, name, i
                            todo.append(item)

    def parent(self, node: ast.AST) -> tuple[ast.AST, str] | None:
        """The node's parent and the name of the field; None for the root."""
        parent, name, _ = self._slots.get(id(node), (None, "", -1))
        return None if parent is None else (parent, name)

    def now(self, old: ast.AST) -> Any:
        """The node that is now in the field of ``old``, which may have been replaced."""
        parent, name, index = self._slots[id(old)]
        value = getattr(parent, name)
        return value if index < 0 else value[index]

    def put(self, old: ast.AST, new: ast.AST) -> None:
        """Put ``new`` into the field of ``old``, even if ``old`` was replaced already."""
        parent, name, index = self._slots[id(old)]
        if index < 0:
            setattr(parent, name, new)
        else:
            getattr(parent, name)[index] = new
