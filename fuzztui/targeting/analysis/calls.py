"""Calls: link them to the application's functions, and arguments to parameters."""

from __future__ import annotations

import ast

from fuzztui.targeting.analysis.definitions import Function
from fuzztui.targeting.analysis.graph import NOTHING
from fuzztui.targeting.analysis.operators import OperatorFlow
from fuzztui.targeting.analysis.types import is_telling

_NARROWING = frozenset({"isinstance", "issubclass"})


class Calls(OperatorFlow):
    """Adds calls, by name or through a value."""

    def _Call(self, node: ast.Call) -> int:
        at = self._value(node)
        given = [self.expr(a) for a in [*node.args, *(k.value for k in node.keywords)]]
        receiver = self.expr(node.func.value) if isinstance(node.func, ast.Attribute) else NOTHING
        functions, certain = self._callees(node.func)
        for f in functions:
            bound = f.bound and (f.is_class_method or not self._is_class(node.func))
            self._enter(at, f, self._bind(f, node, receiver, bound))
        classes = [name for name in self._meant(node.func) if name in self._flow.types.ancestors]
        for name in classes:
            self._construct(at, name, node)
        if not certain or classes or all(f.is_stub for f in functions):
            self._links(at, [receiver, *given])
            self._links(self._raised, [at], 0)
            self._hand_over(at, node, [receiver, *given])
        if not certain and not classes:
            self._call_value(at, node.func, given)
        self._builtin(at, node)
        by_name = isinstance(node.func, ast.Name) and node.func.id == "getattr"
        if by_name and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
            self._flow.dynamic = True
        if isinstance(node.func, ast.Name) and node.func.id in _NARROWING:
            self._links(at, [c for argument in node.args[1:] for c in self._classes(argument)])
        return at

    def _call_value(self, at: int, function: ast.expr, given: list[int]) -> None:
        """Add a call of a value, which may be any function that is used as a value."""
        meant = self._meant(function)
        if not meant and isinstance(function, ast.Attribute):
            self._graph.link(at, self._flow.read(function.attr))
        elif not meant or any(map(self._flow.is_ours, meant)):
            self._graph.link(at, self.expr(function))
            self._links(self._flow.unknown, given)

    def _callees(self, node: ast.expr) -> tuple[list[Function], bool]:
        """Return the application's functions that may be called, and whether these are all."""
        if isinstance(node, ast.Lambda):
            self.expr(node)
            return [self._flow.of_node[node]], True
        meant = self._meant(node)
        found = [f for name in meant for f in self._flow.meant(name) if not f.is_property]
        if not meant and isinstance(node, ast.Attribute):
            return self._flow.namesakes(node.attr), False
        return list({f.number: f for f in found}.values()), bool(found)

    def _bind(
        self, f: Function, node: ast.Call, receiver: int, bound: bool
    ) -> list[tuple[int, int]]:
        """Return pairs of parameters and arguments of a call."""
        pairs = [(f.positional[0], receiver)] if bound else []
        left = f.positional[bound:]
        starred = False
        for argument in node.args:
            given = self.expr(argument)
            starred |= isinstance(argument, ast.Starred)
            if left and not starred:
                pairs.append((left.pop(0), given))
            else:
                pairs += [(formal, given) for formal in [*left, *f.rest]]
        for keyword in node.keywords:
            given = self.expr(keyword.value)
            if keyword.arg is None:
                pairs += [(formal, given) for formal in f.formals]
            elif keyword.arg in f.named:
                pairs.append((f.named[keyword.arg], given))
            else:
                pairs += [(formal, given) for formal in f.rest]
        return pairs

    def _construct(self, at: int, name: str, node: ast.Call) -> None:
        """Add a call of a class: of its constructor, or else assignments to its fields."""
        constructors = self._flow.constructors(name)
        for f in constructors:
            self._enter(at, f, self._bind(f, node, NOTHING, True))
        if constructors:
            return
        fields = self._flow.fields_of(name)
        for field, argument in zip(fields, node.args, strict=False):
            self._graph.link(self._flow.attribute(field), self.expr(argument))
        by_name = {field.rpartition(".")[2]: field for field in fields}
        for keyword in node.keywords:
            if keyword.arg in by_name:
                attribute = self._flow.attribute(by_name[keyword.arg])
                self._graph.link(attribute, self.expr(keyword.value))

    def _hand_over(self, at: int, node: ast.Call, given: list[int]) -> None:
        """Assume that a library calls the functions among its arguments with the others."""
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if not isinstance(argument, ast.Name | ast.Attribute | ast.Lambda):
                continue
            functions, certain = self._callees(argument)
            if certain:
                own = self.expr(argument)
                for f in functions:
                    others = [value for value in given if value != own]
                    self._enter(at, f, [(p, value) for p in f.formals for value in others])

    def _classes(self, node: ast.expr) -> list[int]:
        """Return nodes for the classes that an expression names."""
        if isinstance(node, ast.Tuple):
            return [c for element in node.elts for c in self._classes(element)]
        if isinstance(node, ast.BinOp):
            return [*self._classes(node.left), *self._classes(node.right)]
        names = [n for n in self._meant(node) if n in self._flow.types.classes and is_telling(n)]
        return [self._graph.named(f"class {name}", (name,)) for name in names]
