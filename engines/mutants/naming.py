"""Names and hashes of scopes.

They depend on the content of the code and not on its position, so they stay valid when other code
changes.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence


def lambda_name(digest: str) -> str:
    """The name of a lambda outside of functions."""
    return f"<lambda-{digest[:4]}>"


def import_name(statement: ast.stmt, digest: str) -> str:
    """The name of a statement that runs at import."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return f"{statement.name}.<header>"
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    if isinstance(targets[0], ast.Name):
        return targets[0].id
    return f"{type(statement).__name__.lower()}-{digest[:4]}"


def digest(nodes: Sequence[ast.AST]) -> str:
    """A hash of the nodes without their positions, 12 hex digits."""
    parts: list[str] = []
    for node in nodes:
        _write(node, parts)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _write(node: ast.AST, parts: list[str]) -> None:
    parts.append(type(node).__name__)
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            _write(value, parts)
        elif isinstance(value, list):
            if value or name != "type_params":  # not a field before Python 3.12
                parts.append("[")
            for item in value:
                if isinstance(item, ast.AST):
                    _write(item, parts)
                else:
                    parts.append(repr(item))
        elif value is not None or name == "value":
            parts.append(repr(value))


def headers(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that belong to its own scope, without nested statements."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from statement.decorator_list
        yield statement.args
    elif isinstance(statement, ast.ClassDef):
        yield from (*statement.decorator_list, *statement.bases, *statement.keywords)
    elif hasattr(statement, "body"):
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.AST):
                yield value
            elif name == "items":
                yield from value
            elif name == "cases":
                yield from (case.guard for case in value if case.guard is not None)
            elif name == "handlers":
                yield from (handler.type for handler in value if handler.type is not None)
    else:
        yield statement
