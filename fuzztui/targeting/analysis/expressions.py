"""Expressions other than calls, conditions and assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fuzztui.targeting.analysis.calls import Calls
from fuzztui.targeting.analysis.definitions import Condition, Function
from fuzztui.targeting.analysis.graph import NOTHING
from fuzztui.targeting.analysis.places import Key, key, span


class Expressions(Calls):
    """Adds all kinds of expressions, and assignments, which some contain."""

    def _Name(self, node: ast.Name) -> int:
        scope = self._scope.find(node.id)
        at = self._variable(node.id)
        self._flow.values |= {f.number for f in self._callees(node)[0]}
        if scope is None or scope.owner < 0:
            for name in self._meant(node):
                if self._flow.is_ours(name) and name != f"{self._module}.{node.id}":
                    self._graph.link(at, self._flow.shared(name), 0)
        types = self._names.get(span(node), ())
        if not types:
            return at
        # One node for all uses of the variable with these types.
        use = self._graph.named(f"{at} as {'|'.join(types)}", types, self._owner())
        self._graph.link(use, at, 0)
        return use

    def _Attribute(self, node: ast.Attribute) -> int:
        value = self.expr(node.value)
        at = self._value(node)
        self._graph.link(at, value)
        meant = self._referents.get(span(node))
        if meant is None:
            self._graph.link(at, self._flow.read(node.attr))
        for name in meant or ():
            functions = self._flow.meant(name)
            for f in functions:
                if f.is_property:
                    self._enter(at, f, [(f.positional[0], value)] if f.positional else [])
                else:
                    self._graph.enter(at, f.result)
                    self._flow.values.add(f.number)
            if not functions and self._flow.is_ours(name):
                self._graph.link(at, self._flow.attribute(name))
        return at

    def _BoolOp(self, node: ast.BoolOp) -> int:
        self._operands(node)
        return self._made_of(node, node.values, 0)

    def _IfExp(self, node: ast.IfExp) -> int:
        at = self._made_of(node, [node.body, node.orelse], 0)
        self._links(at, self._decides(key(node), self._operands(node.test)))
        return at

    def _NamedExpr(self, node: ast.NamedExpr) -> int:
        value = self.expr(node.value)
        self._assign(node.target, value, 0)
        return value

    def _Await(self, node: ast.Await) -> int:
        return self._made_of(node, [node.value], 0)

    def _Starred(self, node: ast.Starred) -> int:
        return self.expr(node.value)

    def _Yield(self, node: ast.Yield | ast.YieldFrom) -> int:
        self._returned(node.value)
        return self._value(node)

    def _YieldFrom(self, node: ast.YieldFrom) -> int:
        return self._made_of(node, [node.value]) if self._Yield(node) else NOTHING

    def _Lambda(self, node: ast.Lambda) -> int:
        f = self._flow.of_node[node]
        self._defaults(f)
        with self._inside(f):
            self._graph.link(f.result, self.expr(node.body), 0)
        at = self._graph.add(owner=self._owner())
        self._graph.enter(at, f.result)
        self._flow.values.add(f.number)
        return at

    def _comprehension(self, node: ast.expr, parts: Sequence[ast.expr]) -> int:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        at = self._value(node)
        tests: list[int] = []
        for g in generators:
            iterated = self._iterated(g.iter)
            self._assign(g.target, iterated, 1)
            self._graph.link(at, iterated)
            tests += [operand for test in g.ifs for operand in self._operands(test)]
        for part in parts:
            self._graph.link(at, self.expr(part))
        self._links(at, self._decides(key(node), tests))
        return at

    def _ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> int:
        return self._comprehension(node, [node.elt])

    _SetComp = _GeneratorExp = _ListComp

    def _DictComp(self, node: ast.DictComp) -> int:
        return self._comprehension(node, [node.key, node.value])

    # --------------------------------------------------------------- conditions

    def _decides(self, branch: Key, operands: list[int]) -> list[int]:
        self.conditions[branch] = Condition(operands, self._function)
        return operands

    def _operands(self, node: ast.expr) -> list[int]:
        """Return a condition's operands; of ``and`` and ``or``, those of all parts."""
        if isinstance(node, ast.BoolOp):
            found: list[int] = []
            for n, value in enumerate(node.values):
                if n:
                    self._decides(("operand", span(value)), list(found))
                found += self._operands(value)
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._operands(node.operand)
        if isinstance(node, ast.Compare):
            return [*self._answers(node), *map(self.expr, [node.left, *node.comparators])]
        truth = self._graph.add(owner=self._owner())
        return [self.expr(node), *[truth] * self._truth(truth, node)]

    def _answers(self, node: ast.Compare) -> list[int]:
        """Return the result of the operands' own methods; [] if they have none."""
        at = self.expr(node)
        return [at] if at in self._asked else []

    def _decided(self, node: int) -> None:
        """Let a value depend on the conditions around it."""
        if self._flow.control:
            for tests in self._tests:
                self._links(node, tests)

    def _returned(self, value: ast.expr | None) -> None:
        at = self.expr(value) if value is not None else NOTHING
        if self._function is not None:
            self._graph.link(self._function.result, at, 0)
            self._decided(self._function.result)

    # --------------------------------------------------------------- functions

    @contextmanager
    def _inside(self, f: Function) -> Iterator[None]:
        outer = self._function, self._scope, self._tests, self._raised
        self._function, self._scope = f, self._flow.scopes[f.node]
        self._tests, self._raised = [], f.raised
        yield
        self._function, self._scope, self._tests, self._raised = outer

    def _defaults(self, f: Function) -> None:
        args = f.node.args
        plain = [*args.posonlyargs, *args.args]
        pairs = [
            *zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ]
        for parameter, default in pairs:
            if default is not None:
                self._graph.link(f.named[parameter.arg], self.expr(default), 0)

    # -------------------------------------------------------------- assignments

    def _assign(self, target: ast.expr, value: int, cost: int) -> None:
        """Let the target depend on the value; for a constant, on the condition around."""
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._assign(part, value, cost + 1)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, value, cost)
        elif isinstance(target, ast.Subscript):
            at = self._value(target)
            self._links(at, [self.expr(target.value)])
            self._special(at, target.value, "__setitem__", self.expr(target.slice), value)
            for stored in (value, self.expr(target.slice)):
                self._assign(target.value, stored, cost + 1)
        elif isinstance(target, ast.Name | ast.Attribute):
            for node in self._stores(target, value):
                self._graph.link(node, value, cost)
                if value == NOTHING and self._flow.control and self._tests:
                    self._links(node, self._tests[-1])

    def _stores(self, target: ast.Name | ast.Attribute, value: int) -> list[int]:
        """Return the nodes that an assignment changes."""
        if isinstance(target, ast.Name):
            return [self._variable(target.id)]
        self.expr(target.value)
        meant = self._referents.get(span(target))
        if meant is None:
            return [self._flow.stored(target.attr)]
        for name in meant:
            for f in self._flow.functions.get(name, []):  # a property's setter
                pairs = [(formal, value) for formal in f.formals]
                self._enter(self._graph.add(owner=self._owner()), f, pairs)
        return [self._flow.attribute(name) for name in meant if self._flow.is_ours(name)]
