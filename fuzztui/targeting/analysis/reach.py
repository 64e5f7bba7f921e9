"""Find the functions that an entry point may reach, by the names that reached code mentions.

Coarse on purpose, because the constants and goals of a missed function would be lost. A function
counts as reached if reached code mentions its last name, even for another object. If reached code
calls ``getattr`` with a computed name, all methods count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from fuzztui.targeting.analysis.definitions import Function, own_nodes


def reached(
    functions: Iterable[Function], trees: Mapping[str, ast.Module], entry: str
) -> frozenset[ast.AST]:
    """Return the nodes of the functions that are reached from ``entry``, a full name.

    Returns all functions if ``entry`` does not exist. Code that runs at import is reached.
    """
    by_name: dict[str, list[Function]] = {}
    every = list(functions)
    todo: list[ast.AST] = []
    for f in every:
        last = f.name.rpartition(".")[2].rpartition(":")[2]
        by_name.setdefault(last, []).append(f)
        special = last.startswith("__") and last.endswith("__")
        if f.name == entry or special or last.startswith("<"):
            todo.append(f.node)
    if not any(f.name == entry for f in every):
        return frozenset(f.node for f in every)
    found: set[ast.AST] = set(todo)
    todo += trees.values()
    while todo:
        names, dynamic = _mentioned(todo.pop())
        wanted = [f for name in names for f in by_name.get(name, [])]
        if dynamic:
            wanted += [f for f in every if f.bound]
        for f in wanted:
            if f.node not in found:
                found.add(f.node)
                todo.append(f.node)
    return frozenset(found)


def _mentioned(node: ast.AST) -> tuple[set[str], bool]:
    """Return the names in a function or module, and whether some are computed at run time."""
    names: set[str] = set()
    dynamic = False
    for child in own_nodes(node):
        parts = [child]
        if isinstance(child, ast.ClassDef):  # a class body runs with the code around it
            parts += own_nodes(child)
        for part in parts:
            if isinstance(part, ast.Name):
                names.add(part.id)
            elif isinstance(part, ast.Attribute):
                names.add(part.attr)
            elif isinstance(part, ast.alias):
                names.add(part.name.rpartition(".")[2])
            if isinstance(part, ast.Call) and getattr(part.func, "id", "") == "getattr":
                named = len(part.args) > 1 and isinstance(part.args[1], ast.Constant)
                if named:
                    names.add(str(part.args[1].value))  # type: ignore[attr-defined]
                dynamic |= not named
    return names, dynamic
