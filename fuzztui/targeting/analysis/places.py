"""Where a node stands in its source: how trees of one source are told to mean the same."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["Key", "Span", "key", "span"]

Span = tuple[int, int, int, int]
"""Line (from 1), column (from 0, in UTF-8 bytes), and both of the end."""

Key = tuple[str, Span]
"""A branching construct: its kind of node (``operand``: one of and/or) and its place."""


def span(node: ast.AST) -> Span:
    """The place of an expression or statement."""
    at: Any = node
    return at.lineno, at.col_offset, at.end_lineno or at.lineno, at.end_col_offset or at.col_offset


def key(node: ast.AST) -> Key:
    """What a branching construct is called in another tree of the same source."""
    return type(node).__name__, span(node)
