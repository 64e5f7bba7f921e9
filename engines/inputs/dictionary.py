"""Tokens for mutators: constants of the application's code, and AFL's dictionary files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from fuzztui.engines.base.errors import CannotStart

Context = Literal["compare", "affix", "other"]

_MAX_BYTES: Final = 32
_MAX_TOKENS: Final = 1024
_COMPARING: Final = (ast.Compare, ast.match_case, ast.pattern)
_UNEVALUATED: Final = frozenset({"annotation", "returns", "ctx"})
_AFFIXES: Final = frozenset({"startswith", "endswith", "find", "index", "split", "partition"})


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant in the code. ``context``: in a comparison (``==``, ``in``), an argument of a
    method such as ``startswith``, or anything else."""

    value: str | bytes | int
    context: Context
    module: str
    line: int


ConstantRow = tuple[str | bytes | int, Context, int]
"""Value, context and line of a constant."""


class Constants:
    """Collects the constants of each module of the application as it is loaded."""

    def __init__(self) -> None:
        self.found: dict[tuple[type, str | bytes | int, Context], Constant] = {}

    def add(self, module: str, rows: Iterable[ConstantRow]) -> None:
        """Add the constants of a module."""
        for value, context, line in rows:
            key = (type(value), value, context)
            if key not in self.found:
                self.found[key] = Constant(value, context, module, line)


def constants_of(tree: ast.Module) -> list[ConstantRow]:
    """The constants of a module's tree, without docstrings and annotations."""
    rows: list[ConstantRow] = []
    _collect(tree, "other", rows)
    return rows


def _collect(node: ast.AST, context: Context, rows: list[ConstantRow]) -> None:
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str | bytes) or type(value) is int:
            rows.append((value, context, node.lineno))
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring or a statement without effect
    if isinstance(node, _COMPARING):
        context = "compare"
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        context = "affix" if name in _AFFIXES else "other"
    elif isinstance(node, ast.stmt):
        context = "other"
    for name in node._fields:
        if name in _UNEVALUATED:
            continue
        field = getattr(node, name, None)
        for child in field if isinstance(field, list) else (field,):
            if isinstance(child, ast.AST):
                _collect(child, context, rows)


def tokens_of(constants: Iterable[Constant]) -> list[bytes]:
    """Tokens for the constants, in a fixed order, without duplicates, at most 1,024.

    Constants in comparisons come first, so the limit drops them last.
    """
    rank = {"compare": 0, "affix": 1, "other": 2}
    ordered = sorted(constants, key=lambda c: (rank[c.context], c.module))  # then as in the source
    tokens: dict[bytes, None] = {}
    for constant in ordered:
        for token in _spellings(constant.value):
            if 0 < len(token) <= _MAX_BYTES:
                tokens.setdefault(token)
    return list(tokens)[:_MAX_TOKENS]


def _spellings(value: str | bytes | int) -> list[bytes]:
    if isinstance(value, str):
        return [value.encode("utf-8", "replace")]
    if isinstance(value, bytes):
        return [value]
    if -256 < value < 10:
        return []  # havoc makes these values anyway
    spellings = [str(value).encode()] if value.bit_length() <= 64 else []
    size = next((n for n in (1, 2, 4, 8) if 0 <= value < 1 << (8 * n)), 0)
    if size > 1:
        spellings += [value.to_bytes(size, "little"), value.to_bytes(size, "big")]
    return spellings


_LINE: Final = re.compile(rb'^\s*(?:[\w.-]+\s*(?:@\s*\d+)?\s*=\s*)?"(.*)"\s*$')
_ESCAPE: Final = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)


def read_dictionary(file: Path) -> list[bytes]:
    r"""Read AFL's format: lines ``name="value"`` or ``"value"`` with ``\xNN``, ``\\``, ``\"``.

    Lines that start with ``#`` are comments. Raises :class:`CannotStart` with file and line.
    """
    try:
        lines = file.read_bytes().splitlines()
    except OSError as e:
        raise CannotStart(f"engine.dictionary: {file}: {e.strerror or e}") from None
    tokens: dict[bytes, None] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise CannotStart(
                f'engine.dictionary: {file}:{number}: expected name="value", found'
                f" {line[:40].decode('utf-8', 'replace')!r}"
            )
        token = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], match[1])
        if token:
            tokens.setdefault(token[:128])
    return list(tokens)
