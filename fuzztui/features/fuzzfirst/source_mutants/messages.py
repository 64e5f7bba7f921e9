"""The parts of Python source that no input can test: docstrings, annotations and messages."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator, Sequence

from fuzztui.kernel.base.text import common_head

_LEVELS = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"}
)

_LOGGERS = re.compile(r"_*(?:\w*_)?(?:log|logger|logging|warnings)")
"""Names of what logs, in lower case."""


class Messages:
    """Docstrings, annotations, messages of exceptions, and statements that only log.

    ``lines``: a source file. If Python cannot parse the file, it has no such parts.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._spans: dict[int, list[tuple[float, float]]] = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the target's string escapes
                tree = ast.parse("\n".join([*lines, ""]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in _said(tree):
            last = node.end_lineno or node.lineno
            for number in range(node.lineno, last + 1):
                begin = node.col_offset if number == node.lineno else -1
                end = (node.end_col_offset or 0) if number == last else math.inf
                self._spans.setdefault(number, []).append((begin, end))

    def contain(self, number: int, before: str, after: str) -> bool:
        """Whether the line ``number`` (from 1) changes only in such parts, to ``after``."""
        if number not in self._spans:
            return False
        # Columns of ast are bytes.
        old, new = (text.encode(errors="surrogateescape") for text in (before, after))
        start = common_head(old, new)
        end = len(old) - common_head(old[start:][::-1], new[start:][::-1])
        return any(
            begin <= start and end <= stop and (start < end or begin < start < stop)
            for begin, stop in self._spans[number]
        )


def _said(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes of all such parts."""
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                match node.body[:1]:
                    case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
                        yield docstring
            case ast.Raise(exc=ast.Call(args=args, keywords=keywords)):
                values = [*args, *(keyword.value for keyword in keywords)]
                yield from filter(_is_text, values)
            case ast.Assert(msg=ast.expr() as message):
                yield message
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=logger, attr=level))):
                name = ast.unparse(logger).rpartition(".")[2].lower()
                if level in _LEVELS and _LOGGERS.fullmatch(name):
                    yield node
        for field in ("annotation", "returns"):
            if isinstance(annotation := getattr(node, field, None), ast.expr):
                yield annotation


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is written as text: a literal, also one that is formatted or joined."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return _is_text(left) or (isinstance(node.op, ast.Add) and _is_text(right))
        case ast.Call(func=ast.Attribute(value=text, attr="format")):
            return _is_text(text)
    return False
