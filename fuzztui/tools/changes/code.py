"""Map changed lines of Python files to functions, and to the statements that they belong to.

A function that has only moved, or got another layout or comment, has not changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fuzztui.kernel.base.files import read_regular, real_path
from fuzztui.tools.changes.lines import (
    MAX_FILE_BYTES,
    ChangedFile,
    ChangedFiles,
    ChangesError,
    Lines,
    joined,
    touches,
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ChangedCode:
    """What has changed in one Python file."""

    file: ChangedFile
    functions: dict[str, tuple[int, int]]
    """First and last line, with decorators, by qualified name. Of nested functions, also the
    outer one has changed."""
    imported: Lines
    """Lines of changed statements that run at import: in modules and classes."""
    statements: Lines
    """The changed lines, extended to whole statements (of an ``if``, its head)."""

    @property
    def regions(self) -> Lines:
        """All lines of changed functions and changed statements."""
        return tuple(joined([*self.functions.values(), *self.imported]))

    def __bool__(self) -> bool:
        """Whether anything has changed that is executed."""
        return bool(self.functions or self.imported)


@dataclass(frozen=True, slots=True)
class _Definition:
    first: int
    last: int
    dump: str


class CodeChanges:
    """The changed code of a tree."""

    def __init__(self, changes: ChangedFiles) -> None:
        """Raises :class:`ChangesError` if a changed Python file has a syntax error."""
        self.changes = changes
        self.by_file = {
            path: code
            for path, file in changes.files.items()
            if path.suffix == ".py" and (code := changed_code(file))
        }
        self._real = cache(real_path)

    def code_at(self, path: str) -> ChangedCode | None:
        """Return what has changed in a file; None if nothing has."""
        with suppress(OSError):  # what a log calls a path may be none
            return self.by_file.get(self._real(path)) if path else None
        return None

    def in_changed_code(self, path: str, line: int) -> bool:
        """Whether a line is in a changed function or statement."""
        code = self.code_at(path)
        return code is not None and touches(code.regions, line, line)

    def on_changed_line(self, path: str, line: int) -> bool:
        """Whether a line belongs to a statement with a changed line."""
        code = self.code_at(path)
        return code is not None and touches(code.statements, line, line)


def changed_code(file: ChangedFile) -> ChangedCode:
    """Return what has changed in a Python file. Raises :class:`ChangesError`."""
    try:
        source = read_regular(file.path, MAX_FILE_BYTES)
    except OSError as e:
        raise ChangesError(f"{file.path}: {e.strerror or e}") from None
    tree = _parsed(source, file.path)
    now = dict(_definitions(tree))
    try:
        old_tree = None if file.before is None else _parsed(file.before, file.path)
    except ChangesError:  # it was broken before: all that was touched has changed
        old_tree = None
    touched = list(_touched(tree, file.lines))
    if old_tree is None:
        functions = {n: d for n, d in now.items() if touches(file.lines, d.first, d.last)}
        import_changed = True
    else:
        before = dict(_definitions(old_tree))
        functions = {n: d for n, d in now.items() if n not in before or before[n].dump != d.dump}
        import_changed = _import_code(tree) != _import_code(old_tree)
    inside = tuple((d.first, d.last) for d in now.values())
    imported = [r for r in touched if import_changed and not _within(inside, r)]
    spans = {name: (d.first, d.last) for name, d in functions.items()}
    return ChangedCode(file, spans, tuple(joined(imported)), tuple(joined(touched)))


def _parsed(source: bytes, path: Path) -> ast.Module:
    try:
        return _WithoutDocstrings().visit(ast.parse(source))  # type: ignore[no-any-return]
    except SyntaxError as e:
        raise ChangesError(f"{path}:{e.lineno or 1}: is not valid Python: {e.msg}") from None
    except (ValueError, RecursionError, MemoryError) as e:
        why = str(e) or "it is nested too deeply"
        raise ChangesError(f"{path}: cannot be parsed as Python: {why}") from None


def _definitions(tree: ast.Module) -> Iterator[tuple[str, _Definition]]:
    """Yield the functions by qualified name; a second one of a name has ``#2`` appended."""
    seen: dict[str, int] = {}
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, prefix = stack.pop()
        for child in ast.iter_child_nodes(node):
            below = prefix
            if isinstance(child, _Function | ast.ClassDef):
                name = f"{prefix}{child.name}"
                below = f"{name}."
                if not isinstance(child, ast.ClassDef):
                    count = seen[name] = seen.get(name, 0) + 1
                    first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                    last = child.end_lineno or child.lineno
                    key = f"{name}#{count}" if count > 1 else name
                    yield key, _Definition(first, last, ast.dump(child))
            stack.append((child, below))


def _import_code(tree: ast.Module) -> str:
    """A text that is equal for two files whose code outside of functions is equal.

    Removes the functions from ``tree``.
    """
    return "".join(ast.dump(node) for node in _WithoutFunctions().visit_all(tree.body))


class _WithoutFunctions(ast.NodeTransformer):
    def visit_all(self, nodes: list[ast.stmt]) -> Iterator[ast.AST]:
        yield from filter(None, map(self.visit, nodes))

    def visit(self, node: ast.AST) -> ast.AST | None:
        return None if isinstance(node, _Function) else self.generic_visit(node)


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


def _touched(tree: ast.Module, lines: Lines) -> Iterator[tuple[int, int]]:
    """Yield the lines of changed statements; of compound ones: of the head."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            continue
        if isinstance(node, ast.match_case):
            first = node.pattern.lineno
            last = node.body[0].lineno - 1 if node.body else first
        else:
            first, last = node.lineno, node.end_lineno or node.lineno
            first = min([first, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            inner = getattr(node, "body", None) or getattr(node, "cases", None)
            if inner:
                start = inner[0].pattern if isinstance(inner[0], ast.match_case) else inner[0]
                last = max(node.lineno, start.lineno - 1)
        last = max(first, last)
        if touches(lines, first, last):
            yield first, last


def _within(spans: Lines, lines: tuple[int, int]) -> bool:
    return any(first <= lines[0] and lines[1] <= last for first, last in spans)
