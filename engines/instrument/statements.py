"""``--statements FILE...``: the lines that can be executed, as coverage.py counts them.

Prints a JSON line: ``statements``, the first line of each statement by file, without docstrings and
lines that are excluded (``# pragma: no cover``, ``if TYPE_CHECKING:``, ``...``); and ``first``, the
first line of the statement that goes on in a line, by file. Runs no code of the files.

The outline of a file is for engines: its functions, and the blocks that its decisions lead to.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any, Final

_PRAGMA: Final = re.compile(r"#\s*(?:pragma|PRAGMA)[:\s]?\s*(?:no|NO)\s*(?:cover|COVER)")
_TYPING: Final = re.compile(r"\s*if (?:typing\.)?TYPE_CHECKING:")
_STUB: Final = re.compile(r"\s*(\.\.\.|(async )?def |[)\]])")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
"""Other characters that ``str.splitlines()`` knows, such as form feeds, end no line of Python."""
_SILENT: Final = (tokenize.COMMENT, tokenize.ENCODING)
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def print_statements(files: Sequence[str]) -> int:
    """Print the statements of the files that can be read. Returns the exit status."""
    found: dict[str, list[int]] = {}
    first: dict[str, list[list[int]]] = {}
    for file in files:
        try:
            lines, starts = statements_of(Path(file).read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # it has no statements that a run could show
        found[file] = sorted(lines)
        first[file] = [[line, start] for line, start in sorted(starts.items())]
    print(json.dumps({"statements": found, "first": first}))
    return 0


def statements_of(source: bytes) -> tuple[set[int], dict[int, int]]:
    """The first lines of all statements, and the first line by each line of longer ones.

    Raises SyntaxError, ValueError, RecursionError, MemoryError.
    """
    return _statements(source, ast.parse(source))


def lines_of(source: bytes) -> tuple[list[int], dict[int, int], SourceOutline]:
    """The first lines of all statements, the first line by each line of longer ones, the outline.

    Raises as :func:`statements_of`.
    """
    tree = ast.parse(source)
    statements, starts = _statements(source, tree)
    return sorted(statements), starts, _outline(tree, starts)


def _statements(source: bytes, tree: ast.Module) -> tuple[set[int], dict[int, int]]:
    starts = _starts(source)
    code = compile(source, "module.py", "exec", dont_inherit=True)
    nodes = _walk(tree)
    out = _docstrings(nodes) | _excluded(nodes, source, starts)
    lines = {starts.get(line, line) for line in _lines_of(code) if line not in out}
    return lines - out, starts


def _lines_of(code: CodeType) -> Iterator[int]:
    for _, _, line in code.co_lines():
        if line:
            yield line
    for constant in code.co_consts:
        # Python 3.14: annotations are evaluated in a function of their own, if ever.
        if isinstance(constant, CodeType) and constant.co_name != "__annotate__":
            yield from _lines_of(constant)


def _starts(source: bytes) -> dict[int, int]:
    """The first line of each logical line that has several."""
    starts: dict[int, int] = {}
    first = 0
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type == tokenize.NEWLINE:
                last = token.end[0]
                if first and last != first:
                    starts.update(dict.fromkeys(range(first, last + 1), first))
                first = 0
            elif not first and token.type not in _SILENT and token.string.strip():
                first = token.start[0]
    except (tokenize.TokenError, IndentationError) as e:
        raise ValueError(str(e)) from None
    return starts


_SUITES: Final = ("body", "handlers", "orelse", "finalbody", "cases")


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases directly below a node, in the order of the source."""
    for name in _SUITES:
        suite = getattr(node, name, None)
        if type(suite) is list:  # else the body of a lambda, or of a conditional expression
            yield from suite


def _walk(node: ast.AST) -> list[ast.AST]:
    """A node, and all statements, handlers and cases below it: a tenth of all nodes."""
    found = [node]
    for each in found:
        found.extend(_parts(each))
    return found


def _docstrings(nodes: Sequence[ast.AST]) -> set[int]:
    lines: set[int] = set()
    for node in nodes:
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and node.body:
            one = node.body[0]
            if (
                isinstance(one, ast.Expr)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            ):
                lines.update(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    return lines


def _excluded(nodes: Sequence[ast.AST], source: bytes, starts: dict[int, int]) -> set[int]:
    """Lines of statements and suites whose header is marked as excluded, as by a pragma."""
    encoding = tokenize.detect_encoding(io.BytesIO(source).readline)[0]
    text = ["", *_LINE_END.split(source.decode(encoding))]
    marked = {n for n, line in enumerate(text) if _PRAGMA.search(line) or _TYPING.match(line)}
    for node in nodes:
        if not isinstance(node, ast.Expr) or getattr(node.value, "value", None) is not ...:
            continue
        if _STUB.match(text[node.lineno]):
            marked.add(node.lineno)
    ends = {first: line for line, first in sorted(starts.items())}
    lines: set[int] = set()
    for node in nodes:
        for first, header, last in _suites(node, text):
            if not marked.isdisjoint(range(first, ends.get(header, header) + 1)):
                lines.update(range(first, last + 1))
    for node in nodes:  # "case _:" goes with its body, as an else does
        if isinstance(node, ast.match_case) and node.guard is None:
            wild = isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None
            if wild and lines.issuperset(one.lineno for one in node.body):
                lines.add(node.pattern.lineno)
    return lines


def _suites(node: ast.AST, text: list[str]) -> Iterator[tuple[int, int, int]]:
    """For each suite of a statement (one without suites counts as a suite): its first line, the
    first physical line of the logical line that ends its header, and its last line.
    """
    if isinstance(node, ast.match_case):
        yield node.pattern.lineno, node.pattern.lineno, _end(node.body)
        return
    if not isinstance(node, (ast.stmt, ast.ExceptHandler)):
        return
    last = node.end_lineno or node.lineno
    body: list[ast.stmt] = getattr(node, "body", [])
    if isinstance(node, _DEFINITIONS):
        yield min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.lineno, last
        return
    yield node.lineno, node.lineno, _end(body) if body else last
    before = body
    for name in ("handlers", "orelse", "finalbody"):
        suite: list[Any] = getattr(node, name, [])
        if suite and name != "handlers":
            for line in range(_end(before) + 1, suite[0].lineno):
                if text[line].lstrip().startswith(("else", "finally")):
                    yield line, line, _end(suite)
        before = suite or before


def _end(suite: Sequence[Any]) -> int:
    return int(suite[-1].end_lineno or suite[-1].lineno)


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
    return _outline(ast.parse(source), starts)


def _outline(tree: ast.Module, starts: Mapping[int, int]) -> SourceOutline:
    found = SourceOutline()
    _visit(tree, "", found, starts)
    found.functions.sort(key=lambda f: (f[0], -f[1]))
    return found


def _visit(node: ast.AST, inside: str, found: SourceOutline, starts: Mapping[int, int]) -> None:
    for child in _parts(node):
        name = inside
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}.{child.name}" if inside else child.name
            if not isinstance(child, ast.ClassDef):
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                found.functions.append((first, child.end_lineno or child.lineno, name))
        for suite in _outlined(child):
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


def _outlined(node: ast.AST) -> Iterator[list[ast.stmt]]:
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
        if any(isinstance(node, _LEAVING) for node in _walk(statement)):
            return


_LEAVING: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)
