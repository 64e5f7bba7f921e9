"""Check in the sources that the functions named in a campaign exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fuzztui.base.suggest import meant, near
from fuzztui.targeting.analysis.application import AnalysedApplication, Reference
from fuzztui.targeting.analysis.overlay import functions_of
from fuzztui.targeting.analysis.request import Request, TargetsError

_AT_RUN_TIME = frozenset({
    "__dict__", "__getattr__", "eval", "exec", "globals", "locals", "modules", "setattr", "vars",
})  # fmt: skip
"""Names whose use shows that a module may define others at run time."""


def unsure(request: Request, application: AnalysedApplication) -> Iterator[str]:
    """Yield the keys whose functions only an import can check.

    These are inherited methods, functions imported by ``*``, and those of compiled modules. Raises
    :class:`TargetsError` for functions that certainly do not exist.
    """
    entry, generator = application.entry, application.generator
    module = entry.module.partition(".")[0]
    if module in application.interpreter.unknown:
        raise TargetsError(
            f'target.function = "{request.function}": no module {module} for {request.python};'
            " install it there, or set target.path to its directory"
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
    """Whether a module has a ``function`` or ``Class.method``; None: unknown."""
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
    return False if certain and not dot else None  # ``name`` may be in a submodule
