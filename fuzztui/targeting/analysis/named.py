"""Is there what a campaign names? Told from the sources, as far as those can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fuzztui.base.suggest import meant, near
from fuzztui.targeting.analysis.application import AnalysedApplication, Reference
from fuzztui.targeting.analysis.overlay import functions_of
from fuzztui.targeting.analysis.request import Request, TargetsError

__all__ = ["has", "unsure"]

_AT_RUN_TIME = frozenset({
    "__dict__", "__getattr__", "eval", "exec", "globals", "locals", "modules", "setattr", "vars",
})  # fmt: skip
"""Names by which a module may come to have others that its source does not bind."""


def unsure(request: Request, application: AnalysedApplication) -> Iterator[str]:
    """Keys of what only an import can tell of. Raises :class:`TargetsError` for what is not there.

    A function that a class inherits, that ``*`` imports, or that is of a compiled module: the
    sources do not tell.
    """
    entry, generator = application.entry, application.generator
    module = entry.module.partition(".")[0]
    if module in application.interpreter.unknown:
        raise TargetsError(
            f'target.function = "{request.function}": there is no module {module} for'
            f" {request.python}: install it there, or set target.path to where it lies"
        )
    yield from _of("target.function", request.function, entry, application)
    if request.generator:
        yield from _of("target.generator", request.generator, generator, application)


def _of(
    key: str, reference: str, meaning: Reference, application: AnalysedApplication
) -> Iterator[str]:
    tree = application.trees.get(meaning.module)
    found = has(tree, meaning.function) if tree is not None else None
    if found is None:
        yield key
    elif not found and tree is not None:
        shown = application.source(meaning.module).shown
        known = [name for name, _, _ in functions_of(tree)]
        offered = meant(near(meaning.function, known))
        raise TargetsError(f'{key} = "{reference}": {shown} has no {meaning.function}{offered}')


def has(tree: ast.Module, name: str) -> bool | None:
    """Does a module have a ``function`` or ``Class.method``? None: that is not certain."""
    if any(name == function for function, _, _ in functions_of(tree)):
        return True
    first, dot, _ = name.partition(".")
    bound: set[str] = set()
    certain = True
    for node in ast.walk(tree):
        match node:
            case ast.alias(name="*"):
                certain = False
            case ast.alias():
                certain &= not {node.name, node.asname} & _AT_RUN_TIME
                bound.add(node.asname or node.name.partition(".")[0])
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
                certain &= node.name not in _AT_RUN_TIME
            case ast.Name():
                certain &= node.id not in _AT_RUN_TIME
                if isinstance(node.ctx, ast.Store):
                    bound.add(node.id)
            case ast.Attribute():
                certain &= node.attr not in _AT_RUN_TIME
            case ast.MatchAs(name=str(bound_name)) | ast.MatchStar(name=str(bound_name)):
                bound.add(bound_name)
            case ast.MatchMapping(rest=str(bound_name)):
                bound.add(bound_name)
    if first in bound:  # anywhere: in a function it may be a global
        return None if dot else True
    return False if certain and not dot else None  # of a package it may be a submodule's
