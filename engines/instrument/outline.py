"""The outline of a source file: its functions, and the blocks that its decisions lead to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(slots=True)
class SourceOutline:
    """``functions``: first line, last line and qualified name, outer ones first.

    ``blocks``: the line of a decision, and the line at which one of its blocks begins. ``runs``: by
    the first line of a suite, the lines that run one after the other from there.
    """

    functions: list[tuple[int, int, str]] = field(default_factory=list)
    blocks: list[tuple[int, int]] = field(default_factory=list)
    runs: dict[int, list[int]] = field(default_factory=dict)


def outline_of(source: bytes, starts: Mapping[int, int]) -> SourceOutline:
    """Return the outline. ``starts``: first line of the statement by line, if it is another one.

    Raises SyntaxError, ValueError, RecursionError, MemoryError.
    """
    found = SourceOutline()
    _visit(ast.parse(source), "", found, starts)
    found.functions.sort(key=lambda f: (f[0], -f[1]))
    return found


def _visit(node: ast.AST, inside: str, found: SourceOutline, starts: Mapping[int, int]) -> None:
    for child in ast.iter_child_nodes(node):
        name = inside
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}.{child.name}" if inside else child.name
            if not isinstance(child, ast.ClassDef):
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                found.functions.append((first, child.end_lineno or child.lineno, name))
        for suite in _suites(child):
            lines = [starts.get(at, at) for at in _run(suite)]
            found.runs.setdefault(lines[0], lines)
        for at, block in _blocks(child):
            pair = starts.get(at, at), starts.get(block, block)
            if pair[0] != pair[1]:
                found.blocks.append(pair)
        _visit(child, name, found, starts)


def _blocks(node: ast.AST) -> Iterator[tuple[int, int]]:
    match node:
        case ast.If() | ast.While() | ast.For() | ast.AsyncFor():
            yield node.lineno, node.body[0].lineno
            if node.orelse:
                yield node.lineno, node.orelse[0].lineno
        case ast.Try() | ast.TryStar():
            for handler in node.handlers:
                yield node.lineno, handler.lineno
            if node.orelse:
                yield node.lineno, node.orelse[0].lineno
        case ast.match_case():
            yield node.pattern.lineno, node.body[0].lineno


def _suites(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(node, name, None)
        if isinstance(suite, list) and suite:
            head = suite[0]
            docstring = isinstance(head, ast.Expr) and isinstance(head.value, ast.Constant)
            yield suite[1:] if docstring and len(suite) > 1 else suite


def _run(suite: list[ast.stmt]) -> Iterator[int]:
    """The lines of the statements up to the first one that may leave the suite, or never end."""
    for statement in suite:
        yield statement.lineno
        if isinstance(statement, ast.While) and isinstance(statement.test, ast.Constant):
            return
        if any(isinstance(node, _LEAVING) for node in ast.walk(statement)):
            return


_LEAVING: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)
