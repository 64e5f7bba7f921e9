"""Compile one unit from its lines alone, with the same result as in the compilation of its module.

The unit is parsed again from its lines, put into empty copies (shells) of the surrounding classes,
and compiled. The shells preserve the meaning of ``super()``, ``__class__``, private names and type
parameters. Defaults and annotations are left out, because they do not belong to the code object; a
decorator is replaced by a constant, because a function's first line is that of its decorator.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.util import decode_source
from types import CodeType
from typing import Any

from fuzztui.engines.instrument.instrument import LAMBDA, UnitSpan
from fuzztui.engines.instrument.markers import placed
from fuzztui.engines.instrument.units import flatten, outermost

Unit = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class ModuleLines:
    """A module's source as UTF-8 with newlines only, which is what the tree's positions mean."""

    __slots__ = ("_starts", "data", "source")

    def __init__(self, source: bytes) -> None:
        """Raises SyntaxError or UnicodeDecodeError if the source cannot be decoded."""
        self.source = source
        self.data = decode_source(source).encode("utf-8", "surrogatepass")
        self._starts = [0, *(m.end() for m in re.finditer(b"\n", self.data))]

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a position in the tree."""
        return self._starts[line - 1] + column

    def lines(self, first: int, last: int) -> str:
        """Whole lines, counted from 1, the last included."""
        starts = self._starts
        end = starts[last] if last < len(starts) else len(self.data)
        return self.data[starts[first - 1] : end].decode("utf-8", "surrogatepass")


def unit_of(text: ModuleLines, span: UnitSpan) -> Unit:
    """The unit's tree without what is evaluated outside the unit.

    The whole module is parsed if the unit's lines alone do not give it: positions inside f-strings
    are wrong before Python 3.12. Raises as :func:`ast.parse`.
    """
    found: list[Unit] = []
    with contextlib.suppress(SyntaxError, IndexError, AttributeError):
        found = _at(span, [parse_unit(text, span)])
    found = found or _at(span, ast.walk(ast.parse(text.source)))
    if not found:  # the module's tree was changed before it was instrumented
        raise SyntaxError(f"no unit at line {span.line}")
    strip(found[0], span)
    return found[0]


def _at(span: UnitSpan, nodes: Iterable[ast.AST]) -> list[Unit]:
    place = span.line, span.column, span.end_line, span.end_column
    return [
        node
        for node in nodes
        if isinstance(node, Unit)
        and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == place
    ]


def parse_unit(text: ModuleLines, span: UnitSpan) -> Unit:
    """The unit's syntax tree, with its positions in the module."""
    if span.name == LAMBDA:
        start = text.offset(span.line, span.column)
        end = text.offset(span.end_line, span.end_column)
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


def strip(node: Unit, span: UnitSpan) -> None:
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


def shelled(
    node: Unit, shells: Sequence[tuple[str, tuple[str, ...]]], imports: Iterable[str] = ()
) -> ast.Module:
    """A module that contains only the unit, inside shells of its classes.

    ``shells``: name and type parameters of each class, the outermost first. ``imports``: names that
    the module imports, because the compiler calls their methods in another way.
    """
    inner: ast.stmt = node if not isinstance(node, ast.Lambda) else placed(ast.Expr(node), node)
    for name, type_params in reversed(shells):
        outer: Any = ast.ClassDef(name=name, bases=[], keywords=[], body=[inner], decorator_list=[])
        if sys.version_info >= (3, 12):
            outer.type_params = [ast.TypeVar(param) for param in type_params]
        inner = placed(outer, node)
    names = [ast.alias(name) for name in imports]
    before: list[ast.stmt] = [placed(ast.Import(names), node)] if names else []
    return ast.Module([*before, inner], [])


def only_unit(code: CodeType) -> list[CodeType]:
    """The code objects (:func:`flatten`) of the only unit in a :func:`shelled` module."""
    (root,) = outermost(code)
    return flatten(root)
