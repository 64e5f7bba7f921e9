"""Insert annotations for parameters that have none, from the generator or from observed types.

The annotation is inserted into the module's text at the parameter, and its imports below the last
line, so that lines stay and columns move by a known width.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fuzztui.features.targeting.analysis.definitions import Span, parameters

RETURN = "return"
"""The key of a function's result among its parameters."""

_T = TypeVar("_T")

_PREFIX = "_fuzztui_"


@dataclass(slots=True)
class Overlay:
    """A module's text with inserted annotations."""

    text: str
    moved: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """By line: the column and width, in bytes, of each insertion."""

    def back(self, found: Mapping[Span, _T]) -> dict[Span, _T]:
        """Convert positions in the text to positions in the original."""
        return {(a, self._was(a, b), c, self._was(c, d)): v for (a, b, c, d), v in found.items()}

    def _was(self, line: int, column: int) -> int:
        moved = 0
        for at, width in sorted(self.moved.get(line, ())):
            if column >= at + moved + width:
                moved += width
        return column - moved


def annotate(
    module: str,
    text: str,
    tree: ast.Module,
    known: Mapping[str, Mapping[str, str]],
    modules: Container[str] = (),
) -> Overlay:
    """Annotate the parameters and results without annotation in a module.

    ``known``: types as full names (``datetime.date | None``), by the function's name in the module
    (``Class.method``) and the parameter. ``modules``: names of the application's modules.
    """
    overlay = Overlay(text)
    aliases: dict[str, str] = {}

    def local(words: str) -> str:
        return _local(words, module, modules, aliases)

    inserts: list[tuple[int, int, bytes]] = []
    for name, function, _ in functions_of(tree):
        words = known.get(name, {}).get(RETURN)
        if words and function.returns is None:
            line, column = _head_ends(text, function)
            inserts.append((line, column, f" -> {local(words)!r}".encode()))
        for parameter in parameters(function.args):
            words = known.get(name, {}).get(parameter.arg)
            if words and parameter.annotation is None:
                line, column = parameter.end_lineno or 0, parameter.end_col_offset or 0
                inserts.append((line, column, f": {local(words)!r}".encode()))
    if not inserts:
        return overlay
    lines = text.encode().split(b"\n")
    for line, column, words_there in sorted(inserts, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + words_there + old[column:]
        overlay.moved.setdefault(line, []).append((column, len(words_there)))
    lines += [f"import {name} as {alias}".encode() for name, alias in aliases.items()]
    overlay.text = b"\n".join(lines).decode() + "\n"
    return overlay


def functions_of(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Yield functions of a module and its classes: name, node, whether they are bound methods."""
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{getattr(child, 'name', '')}"
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            static = any(getattr(d, "id", "") == "staticmethod" for d in child.decorator_list)
            yield name, child, bool(prefix) and not static
        elif isinstance(child, ast.ClassDef):
            yield from functions_of(child, f"{name}.")
        else:
            yield from functions_of(child, prefix)


def _head_ends(text: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """Return line and column (in bytes) after a function's closing parenthesis."""
    lines = text.split("\n")[function.lineno - 1 :]
    lines[0] = " " * function.col_offset + lines[0].encode()[function.col_offset :].decode()
    depth = 0
    for token in tokenize.generate_tokens(iter(f"{line}\n" for line in lines).__next__):
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
            if not depth and token.string == ")":
                row, column = token.end
                return function.lineno + row - 1, len(lines[row - 1][:column].encode())
    raise AssertionError("a function has parameters")


def _local(words: str, own: str, modules: Container[str], aliases: dict[str, str]) -> str:
    """Convert a type with full names to names usable in the module ``own``.

    Adds the required imports to ``aliases``. Nested classes are recognised in ``modules`` only.
    """

    class Rename(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            full = ast.unparse(node)
            module = known = full.rpartition(".")[0]
            while known and known != own and known not in modules:
                known = known.rpartition(".")[0]
            module = known or module
            rest = full[len(module) + 1 :]
            if module != own:  # mypy does not know a module that imports itself
                rest = f"{aliases.setdefault(module, f'{_PREFIX}{len(aliases)}')}.{rest}"
            return ast.parse(rest, mode="eval").body

    return ast.unparse(Rename().visit(ast.parse(words, mode="eval")))


def returned_type(tree: ast.Module, module: str, function: str) -> str:
    """Return the annotated result of a function (a generator), with full names; "" if none."""
    for name, node, _ in functions_of(tree):
        if name == function and node.returns is not None:
            return by_full_names(node.returns, imported(tree, module))
    return ""


def annotated(
    tree: ast.Module, module: str, *, is_package: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Yield functions, their annotated parameters, and the annotations with full names."""
    known = imported(tree, module, is_package=is_package)
    for name, node, _ in functions_of(tree):
        for parameter in parameters(node.args):
            if parameter.annotation is not None:
                yield name, parameter.arg, by_full_names(parameter.annotation, known)


def by_full_names(annotation: ast.expr, known: Mapping[str, str]) -> str:
    """Return an annotation with full names; "" if it is invalid."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return ""
    return ast.unparse(_FullNames(known).visit(ast.parse(ast.unparse(annotation))))


def imported(tree: ast.Module, module: str, *, is_package: bool = False) -> dict[str, str]:
    """Return full names for names of a module's top level, including ``if TYPE_CHECKING``."""
    names: dict[str, str] = {}
    package = [*module.split("."), *[""] * is_package]  # relative imports start at a package itself
    for node in _at_the_top(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                names[a.asname or a.name.partition(".")[0]] = (
                    a.name if a.asname else a.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            base: Sequence[str] = package[: -node.level] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            names |= {a.asname or a.name: f"{origin}.{a.name}" for a in node.names}
        elif isinstance(node, ast.ClassDef):
            names[node.name] = f"{module}.{node.name}"
    return names


def _at_the_top(node: ast.AST) -> Iterator[ast.AST]:
    """Yield statements that bind the module's names, also in ``if`` and ``try``.

    Later statements take precedence: ``else`` comes before ``if``. Leaves out ``except``, which
    binds substitutes for failed imports.
    """
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If):
        children = [*node.orelse, *node.body]
    for child in children:
        if isinstance(child, ast.ExceptHandler):
            continue
        yield child
        if not isinstance(child, ast.expr | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _at_the_top(child)


class _FullNames(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(self._names.get(node.id, node.id), mode="eval").body
