"""The mutants of a module's source as plain values, which a :class:`SourceCache` keeps.

Finding them takes longer than importing the module. To run a mutant, its unit is parsed again.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from fuzztui.engines.instrument.cache import SourceCache
from fuzztui.engines.mutants.mutant import before_and_after, region_of
from fuzztui.engines.mutants.operators import MutationOperator
from fuzztui.engines.mutants.sites import MutationScope, Point, find_scopes
from fuzztui.engines.mutants.text import ModuleText

ChangeRow = tuple[str, str, str, str, str]
"""A mutation: ordinal and variant ("0:!="), operator, text before and after, name of the watch."""
PointRow = tuple[tuple[int, int, int, int], str, list[ChangeRow]]
"""A point: its :class:`Region`, the function around, its mutations in their order."""


class ScopeRow(NamedTuple):
    """A scope; ``line`` and ``column``: where its node begins, as in the syntax tree."""

    line: int
    column: int
    name: str
    unit: bool
    shells: list[tuple[str, tuple[str, ...]]]
    hash: str
    points: list[PointRow]


def find_rows(
    file: str, text: ModuleText, operators: Sequence[MutationOperator], cache: SourceCache
) -> list[ScopeRow]:
    """The scopes of a module. Raises RecursionError if the module is nested too deeply."""

    def make() -> list[Any]:
        scopes = find_scopes(ast.parse(text.source, file), operators)
        return [_scope(scope, text) for scope in scopes]

    names = tuple(operator.name for operator in operators)
    return [ScopeRow(*row) for row in cache.get("mutants", names, text.source, make)]


def _scope(scope: MutationScope, text: ModuleText) -> tuple[Any, ...]:
    """The fields of a :class:`ScopeRow`: :mod:`marshal` rejects named tuples."""
    ordinals: dict[str, int] = {}
    points = [_point(point, text, ordinals) for point in scope.points]
    shells = [(shell.name, shell.type_params) for shell in scope.shells]
    line, column = scope.node.lineno, scope.node.col_offset
    return line, column, scope.name, scope.unit, shells, scope.hash, points


def _point(point: Point, text: ModuleText, ordinals: dict[str, int]) -> PointRow:
    """``ordinals``: the number of places of each operator before the point, which is updated."""
    changes: list[ChangeRow] = []
    sites: dict[str, int] = {}
    for operator, change in point.changes:
        name = operator.name
        sites[name] = max(sites.get(name, 0), change.site + 1)
        number = f"{ordinals.get(name, 0) + change.site}:{change.variant}"
        changes.append((number, name, *before_and_after(text, point, change), change.watch))
    for name, count in sites.items():
        ordinals[name] = ordinals.get(name, 0) + count
    line, column, end_line, end_column = region_of(text, point)
    return (line, column, end_line, end_column), point.function, changes
