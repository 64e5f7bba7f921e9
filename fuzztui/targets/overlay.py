"""Annotations for parameters that have none: from the generator's, or from what was observed.

An annotation is put into the text of the module, at the parameter, and what it needs is imported
below the last line: so the lines stay, and columns move by a known width.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fuzztui.targets.definitions import parameters
from fuzztui.targets.places import Span

__all__ = [
    "RETURN", "Overlay", "annotate", "annotated", "by_full_names", "functions_of", "imported",
    "returned_type",
]  # fmt: skip

RETURN = "return"
"""What a function returns, among the names of its parameters."""

_T = TypeVar("_T")

_PREFIX = "_fuzztui_"


@dataclass(slots=True)
class Overlay:
    """A module's text with annotations, and how places in it moved."""

    text: str
    moved: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """By line: columns and by how many bytes what begins there or later moved."""

    def back(self, found: Mapping[Span, _T]) -> dict[Span, _T]:
        """What was found in the text, by places of the original."""
        return {(a, self._was(a, b), c, self._was(c, d)): v for (a, b, c, d), v in found.items()}

    def _was(self, line: int, column: int) -> int:
        moved = 0
        for at, width in sorted(self.moved.get(line, ())):
            if column >= at + moved + width:
                moved += width
        return column - moved


def annotate(
    module: str, text: str, tree: ast.Module, known: Mapping[str, Mapping[str, str]]
) -> Overlay:
    """Annotate parameters, and what is returned, where there is no annotation in a module.

    ``known``: types as full names (``datetime.date | None``) by parameter, by the function's name
    within the module (``Class.method``).
    """
    overlay = Overlay(text)
    modules: dict[str, str] = {}
    inserts: list[tuple[int, int, bytes]] = []
    for name, function, _ in functions_of(tree):
        words = known.get(name, {}).get(RETURN)
        if words and function.returns is None:
            line, column = _head_ends(text, function)
            inserts.append((line, column, f" -> {_local(words, module, modules)!r}".encode()))
        for parameter in parameters(function.args):
            words = known.get(name, {}).get(parameter.arg)
            if words and parameter.annotation is None:
                line, column = parameter.end_lineno or 0, parameter.end_col_offset or 0
                inserts.append((line, column, f": {_local(words, module, modules)!r}".encode()))
    if not inserts:
        return overlay
    lines = text.encode().split(b"\n")
    for line, column, words_there in sorted(inserts, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + words_there + old[column:]
        overlay.moved.setdefault(line, []).append((column, len(words_there)))
    lines += [f"import {name} as {alias}".encode() for name, alias in modules.items()]
    overlay.text = b"\n".join(lines).decode() + "\n"
    return overlay


def functions_of(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Functions of a module and of its classes: name there, node, is its first parameter bound?"""
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
    """Line and column (in bytes) behind the parenthesis that closes a function's parameters."""
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


def _local(words: str, own: str, modules: dict[str, str]) -> str:
    """A type by full names as module ``own`` can write it; ``modules`` collects what to import."""

    class Rename(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            module, _, last = ast.unparse(node).rpartition(".")
            if module == own:  # which mypy would not know yet, were it imported here
                return ast.Name(last, ast.Load())
            alias = modules.setdefault(module, f"{_PREFIX}{len(modules)}")
            return ast.Attribute(ast.Name(alias, ast.Load()), last, ast.Load())

    return ast.unparse(Rename().visit(ast.parse(words, mode="eval")))


def returned_type(tree: ast.Module, module: str, function: str) -> str:
    """The annotated result of a function (a generator of inputs), by full names; "" for none."""
    for name, node, _ in functions_of(tree):
        if name == function and node.returns is not None:
            return by_full_names(node.returns, imported(tree, module))
    return ""


def annotated(tree: ast.Module, module: str) -> Iterator[tuple[str, str, str]]:
    """Functions, their annotated parameters and the types of these, by full names."""
    known = imported(tree, module)
    for name, node, _ in functions_of(tree):
        for parameter in parameters(node.args):
            if parameter.annotation is not None:
                yield name, parameter.arg, by_full_names(parameter.annotation, known)


def by_full_names(annotation: ast.expr, known: Mapping[str, str]) -> str:
    """An annotation with all names as they are in full; "" if it is none."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return ""
    return ast.unparse(_FullNames(known).visit(ast.parse(ast.unparse(annotation))))


def imported(tree: ast.Module, module: str) -> dict[str, str]:
    """What names at the top of a module mean, by full names."""
    names: dict[str, str] = {}
    package = module.split(".")
    for node in tree.body:
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


class _FullNames(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(self._names.get(node.id, node.id), mode="eval").body
