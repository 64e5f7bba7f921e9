"""Add the statements of one module to the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fuzztui.targeting.analysis.expressions import Expressions
from fuzztui.targeting.analysis.places import key


class ModuleFlow(Expressions):
    """Adds one module's statements, each by the method of its node class."""

    @contextmanager
    def _under(self, tests: list[int]) -> Iterator[None]:
        self._tests.append(tests)
        yield
        self._tests.pop()

    def block(self, body: Iterable[ast.stmt]) -> None:
        """Add statements."""
        for node in body:
            visit = getattr(self, f"_{type(node).__name__}", self._plain)
            visit(node)

    def _plain(self, node: ast.stmt) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expr(child)

    def _Import(self, node: ast.stmt) -> None:
        pass

    _ImportFrom = _Global = _Nonlocal = _TypeAlias = _Import

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        f = self._flow.of_node[node]
        for decorator in node.decorator_list:
            self.expr(decorator)
        self._defaults(f)
        self._graph.enter(self._variable(node.name), f.result)
        with self._inside(f):
            self.block(node.body)

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef) -> None:
        for part in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self.expr(part)
        outer, self._scope = self._scope, self._flow.scopes[node]
        self.block(node.body)
        self._scope = outer

    def _Return(self, node: ast.Return) -> None:
        self._returned(node.value)

    def _Raise(self, node: ast.Raise) -> None:
        outer, self._raised = (
            self._raised,
            self._graph.add(),
        )  # making an exception does not count as raising
        self._plain(node)
        self._raised = outer
        self._decided(self._raised)

    def _Assert(self, node: ast.Assert) -> None:
        self._links(self._raised, self._operands(node.test))
        self._plain(node)

    def _Expr(self, node: ast.Expr) -> None:
        at = self.expr(node.value)
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            functions, _ = self._callees(call.func)
            if not functions:  # a library's method whose value is unused changes the receiver
                self._assign(call.func.value, at, 0)

    def _Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._unpack(target, node.value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._unpack(node.target, node.value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self._assign(node.target, self._in_place(node), 1)

    def _unpack(self, target: ast.expr, value: ast.expr) -> None:
        """Assign a value; elements of a tuple to elements of a tuple."""
        both = isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
        if both and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            for part, of in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                self._unpack(part, of)
        else:
            self._assign(target, self.expr(value), 0)

    # ------------------------------------------------------- compound statements

    def _If(self, node: ast.If) -> None:
        with self._under(self._decides(key(node), self._operands(node.test))):
            self.block(node.body)
            self.block(node.orelse)

    _While = _If

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self._iterated(node.iter)
        self._assign(node.target, iterated, 1)
        with self._under(self._decides(key(node), [iterated])):
            self.block(node.body)
            self.block(node.orelse)

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self._entered(item.context_expr)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value, 0)
        self.block(node.body)

    _AsyncWith = _With

    def _Try(self, node: ast.Try) -> None:
        raised = self._graph.add(owner=self._owner())
        outer, self._raised = self._raised, raised
        self.block(node.body)
        self._raised = outer
        self._graph.link(outer, raised, 0)  # the handlers may not match
        with self._under(self._decides(key(node), [raised])):
            for handler in node.handlers:
                if handler.type is not None:
                    self.expr(handler.type)
                if handler.name:
                    self._graph.link(self._variable(handler.name), raised)
                self.block(handler.body)
            self.block(node.orelse)
        self.block(node.finalbody)

    _TryStar = _Try

    def _Match(self, node: ast.Match) -> None:
        subject = self.expr(node.subject)
        by_class = self._graph.add(owner=self._owner())
        tests = self._decides(key(node), [subject, by_class])
        for case in node.cases:
            self._pattern(case.pattern, subject, by_class)
            if case.guard is not None:
                tests += self._operands(case.guard)
            with self._under(tests):
                self.block(case.body)

    def _pattern(self, pattern: ast.pattern, subject: int, by_class: int) -> None:
        if isinstance(pattern, ast.MatchValue):
            self._graph.link(by_class, self.expr(pattern.value), 0)
        elif isinstance(pattern, ast.MatchClass):
            self._links(by_class, self._classes(pattern.cls))
        for name in ("name", "rest"):
            if captured := getattr(pattern, name, None):
                self._graph.link(self._variable(captured), subject)
        for child in ast.iter_child_nodes(pattern):
            if isinstance(child, ast.pattern):
                self._pattern(child, subject, by_class)
