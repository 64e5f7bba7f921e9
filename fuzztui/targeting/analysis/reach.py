"""Which functions an entry point may reach, by the names that are mentioned on the way.

Coarse on purpose: a function that is reached but not found would take its constants and targets
with it. So a function counts as soon as code that is reached mentions its last name, whoever's
it is; where attributes are looked up by names that are made at run time, all methods do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from fuzztui.targeting.analysis.definitions import Function, own_nodes

__all__ = ["reached"]


def reached(
    functions: Iterable[Function], trees: Mapping[str, ast.Module], entry: str
) -> frozenset[ast.AST]:
    """The nodes of the functions that are reached from ``entry``, a full name.

    All of them, if there is no such function. What runs at import is reached.
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
    """Names in a function or module, and whether some are made at run time."""
    names: set[str] = set()
    dynamic = False
    for child in own_nodes(node):
        parts = [child]
        if isinstance(child, ast.ClassDef):  # its body runs with what is around it
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
