"""A patch that adds ``@example(...)`` to Hypothesis tests.

Pure: it reads and writes no file. Expressions become source code: only literals, and calls of
classes that the engine has named, and that the file itself imports or defines, are accepted.
"""

from __future__ import annotations

import ast
import io
import keyword
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.kernel.base.patches import unified_diff
from fuzztui.tools.export.made_examples import MadeExample

MAX_TEXT: Final = 2000
"""Characters of the arguments of one example."""

_LITERALS: Final = (
    ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.Load,
    ast.Call, ast.keyword,
)  # fmt: skip

_BUILT_IN: Final = ("float", "complex", "bytearray", "frozenset", "set")


class NoExample(Exception):
    """The input cannot be written as an ``@example``: the message says why."""


@dataclass(frozen=True, slots=True)
class FailingExample:
    """An example to add. ``name``: node id of the test. ``made``: arguments of the failing call."""

    name: str
    made: MadeExample

    @property
    def file(self) -> str:
        """The file of the test, relative to the project's root."""
        return self.name.partition("::")[0]

    @property
    def path(self) -> list[str]:
        """The classes and the function of the test."""
        return self.name.partition("[")[0].split("::")[1:]


def patch(
    sources: Mapping[str, str], examples: Sequence[FailingExample]
) -> tuple[str, int, dict[str, str]]:
    """Return a unified diff, the examples that it adds, and why others are not in it, by property.

    ``sources``: the text of each test file, by its name relative to the project's root.
    """
    refused: dict[str, str] = {}
    diffs: list[str] = []
    added = 0
    for file in dict.fromkeys(one.file for one in examples):
        before = sources.get(file)
        if before is None:
            refused |= {one.name: f"{file} cannot be read" for one in examples if one.file == file}
            continue
        of_file = [one for one in examples if one.file == file]
        after, count = _with_examples(before, of_file, refused)
        added += count
        if count:
            diffs.append(unified_diff(file, before.encode(), after.encode()))
    return "".join(diffs), added, refused


def _lines(source: str) -> list[str]:
    """Lines as Python and ``patch`` count them: a form feed ends none."""
    return io.StringIO(source, newline="").readlines()


def _with_examples(
    source: str, examples: Sequence[FailingExample], refused: dict[str, str]
) -> tuple[str, int]:
    """Return the source with the examples, and how many were added."""
    try:
        tree = ast.parse(source)
    except SyntaxError as e:
        refused |= {one.name: f"{one.file} is not valid Python: {e.msg}" for one in examples}
        return source, 0
    bound = set(_bound(tree))
    decorator, imported = _decorator(tree, bound)
    lines = _lines(source)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    added: dict[int, list[str]] = {}
    for one in examples:
        try:
            given, present = _given(tree, one)
            indent = lines[given.lineno - 1].partition("@")[0]
            call = f"{decorator}({_arguments(one.made, bound)})"
        except NoExample as e:
            refused[one.name] = str(e)
            continue
        there = added.setdefault(given.end_lineno or given.lineno, [])
        text = f"{indent}@{call}{ending}"
        if call not in present and text not in there:
            there.append(text)
    count = sum(map(len, added.values()))
    if count and imported:
        added.setdefault(_after_imports(tree), []).insert(0, imported + ending)
    for at in sorted(added, reverse=True):
        lines[at:at] = added[at]
    return "".join(lines), count


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that the file's top level imports or defines."""
    for node in tree.body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from ((a.asname or a.name).partition(".")[0] for a in node.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign():
                yield from (t.id for t in node.targets if isinstance(t, ast.Name))


def _decorator(tree: ast.Module, bound: set[str]) -> tuple[str, str]:
    """The name of the decorator in this file, and the import that is needed for it, or ""."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "hypothesis":
            for name in node.names:
                if name.name == "example":
                    return name.asname or name.name, ""
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name == "hypothesis":
                    return f"{name.asname or name.name}.example", ""
    if "example" in bound:
        return "hypothesis_example", "from hypothesis import example as hypothesis_example"
    return "example", "from hypothesis import example"


def _after_imports(tree: ast.Module) -> int:
    """The line after which an import is added: the first import of Hypothesis, else the last."""
    imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    of_hypothesis = [
        n for n in imports if isinstance(n, ast.ImportFrom) and n.module == "hypothesis"
    ]
    found = [*of_hypothesis[:1], *imports[-1:]]
    return (found[0].end_lineno or 0) if found else 0


def _given(tree: ast.Module, one: FailingExample) -> tuple[ast.Call, set[str]]:
    """The ``@given`` after which the example is added, and the texts of all decorators of the test.

    Raises :class:`NoExample`.
    """
    body: Sequence[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for name in one.path:
        kinds = (ast.FunctionDef, ast.ClassDef)
        found = next((n for n in body if isinstance(n, kinds) and n.name == name), None)
        if found is None:
            raise NoExample("the test is not defined in its file: it is inherited, or made by code")
        body = found.body
    if not isinstance(found, ast.FunctionDef):
        raise NoExample("a stateful test takes no examples")
    for node in found.decorator_list:
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "given":
            return node, {ast.unparse(decorator) for decorator in found.decorator_list}
    raise NoExample("the test has no decorator @given in its file")


def _arguments(made: MadeExample, bound: set[str]) -> str:
    """The arguments of the failing call. Raises :class:`NoExample`."""
    if made.why:
        raise NoExample(made.why)
    given = [f"{name}={_expression(name, text, _Names(names, bound))}"
             for name, text, names in made.arguments]  # fmt: skip
    if len(text := ", ".join(given)) > MAX_TEXT:
        raise NoExample(f"its arguments have more than {MAX_TEXT:,} characters")
    return text


def _expression(name: str, text: str, names: _Names) -> str:
    """An expression with the names of the file. Raises :class:`NoExample`."""
    try:
        found = ast.unparse(names.visit(ast.parse(text, mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = ""
    if not found or not name.isidentifier() or keyword.iskeyword(name):
        raise NoExample(f"{name!r} has no text that is valid Python")
    return found


class _Names(ast.NodeTransformer):
    """Replaces the classes in an expression by the file's names; refuses everything else."""

    def __init__(self, names: Mapping[str, str], bound: set[str]) -> None:
        self._names, self._bound = names, bound

    def visit(self, node: ast.AST) -> ast.AST:
        """Raises :class:`NoExample`."""
        if isinstance(node, ast.Name | ast.Attribute):
            name = self._names.get(ast.unparse(node), "")
            first, *rest = name.split(".")
            if not all(map(str.isidentifier, (first, *rest))):
                raise NoExample(f"{ast.unparse(node):.60} is not a class")
            if first not in self._bound and (rest or first not in _BUILT_IN):
                raise NoExample(f"it needs {first}, which the file does not import")
            return ast.parse(name, mode="eval").body
        if not isinstance(node, _LITERALS):
            raise NoExample(f"{ast.unparse(node):.60} is not a literal")
        return self.generic_visit(node)
