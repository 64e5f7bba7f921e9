"""Positions of nodes in a source, which identify nodes across trees of the same source."""

from __future__ import annotations

import ast
from typing import Any

Span = tuple[int, int, int, int]
"""Line (from 1) and column (from 0, in UTF-8 bytes) of the start and the end."""

Key = tuple[str, Span]
"""A decision: its node class (``operand``: an operand of and/or) and its position."""


def span(node: ast.AST) -> Span:
    """Return the position of an expression or statement."""
    at: Any = node
    return at.lineno, at.col_offset, at.end_lineno or at.lineno, at.end_col_offset or at.col_offset


def key(node: ast.AST) -> Key:
    """Return the key of a decision, equal in all trees of the same source."""
    return type(node).__name__, span(node)
