"""The base of a module's part of the graph: nodes of values, and calls of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from fuzztui.targeting.analysis.definitions import Condition, Function, NameScope
from fuzztui.targeting.analysis.flow import Flow
from fuzztui.targeting.analysis.graph import NOTHING
from fuzztui.targeting.analysis.places import Key, span


class Values:
    """Adds nodes of expressions, each by the method of its node class."""

    def __init__(self, flow: Flow, module: str, scope: NameScope) -> None:
        self.conditions: dict[Key, Condition] = {}
        self._flow, self._graph = flow, flow.graph
        self._module, self._scope = module, scope
        self._names = flow.types.names.get(module, {})
        self._referents = flow.types.referents.get(module, {})
        self._function: Function | None = None
        self._nodes: dict[ast.AST, int] = {}
        self._asked: set[int] = set()
        """Nodes computed by special methods of the application."""
        self._tests: list[list[int]] = []
        """Operands of the conditions around, outermost first, within the function."""
        self._raised = self._graph.add()
        """Node of what decides whether an exception is raised here."""

    def _owner(self) -> int:
        return self._function.number if self._function else -1

    def _value(self, node: ast.AST) -> int:
        """A new node for an expression's value."""
        return self._graph.add(self._names.get(span(node), ()), self._owner())

    def _made_of(self, node: ast.AST, parts: Iterable[ast.AST | None], cost: int = 1) -> int:
        made = self._value(node)
        for part in parts:
            if isinstance(part, ast.expr):
                self._graph.link(made, self.expr(part), cost)
        return made

    def _variable(self, name: str) -> int:
        scope = self._scope.find(name)
        if scope is None:
            return self._flow.shared(f"{self._module}.{name}")
        full = scope.prefix + name
        if scope.owner < 0:
            return self._flow.attribute(full) if scope.is_class else self._flow.shared(full)
        if scope.owner != self._owner():
            return self._flow.shared(full)  # of a function around
        return self._graph.named(full, owner=scope.owner)

    def _meant(self, node: ast.expr) -> tuple[str, ...]:
        """Return full names of what an expression refers to, except local variables."""
        if isinstance(node, ast.Name):
            scope = self._scope.find(node.id)
            if scope is not None and scope.prefix + node.id in self._flow.functions:
                return (scope.prefix + node.id,)
        return self._referents.get(span(node), ())

    def expr(self, node: ast.expr) -> int:
        """Return the node of an expression; add it, with its parts, if it is new."""
        if node not in self._nodes:
            visit = getattr(self, f"_{type(node).__name__}", self._other)
            self._nodes[node] = visit(node)
        return self._nodes[node]

    def _other(self, node: ast.expr) -> int:
        return self._made_of(node, ast.iter_child_nodes(node))

    def _Constant(self, node: ast.Constant) -> int:
        return NOTHING

    def _links(self, node: int, to: Iterable[int], cost: int = 1) -> None:
        for other in to:
            self._graph.link(node, other, cost)

    def _is_class(self, node: ast.expr) -> bool:
        """Whether a method is looked up in the class itself."""
        return isinstance(node, ast.Attribute) and any(
            name in self._flow.types.classes for name in self._meant(node.value)
        )

    def _enter(self, at: int, f: Function, bindings: list[tuple[int, int]]) -> None:
        self._graph.call(at, f.result, bindings)
        self._graph.call(self._raised, f.raised, bindings)
