"""Instrumenting a module's AST: coverage probes and loop fuel.

*Statement probes* (``cells[k] = 1``) stand at the start of every block: function
bodies, both arms of ``if`` (an absent ``else`` is made), loop bodies, normal exits
of loops that can be left otherwise, handlers, cases and "no case matched". *Expression probes*
(``arms.add(k) or expr``) stand in the arms of conditional expressions, right
operands of ``and``/``or``, lambdas, and elements that a comprehension's
condition let through. ``cells`` and ``arms.add`` are not looked up by name: they
are put among the code object's constants in place of a marker, which is what
makes a probe cost about 15 ns and leaves the module's names alone.

*Fuel*: a loop that can turn for ever (``while``, ``for`` over ``range``, ``count``
and the like) counts its turns in a local and reports each 256 to the guard, which
ends a run that turns too often: a deterministic verdict, unlike a clock's. In modules
and class bodies, where a local would be an attribute, each turn is a call.

Only code in functions is probed: what runs at import does not depend on the input.
Inserted nodes take the place (line and columns) of the block that they open, so
tracebacks stay right. A block that begins with an ``if`` on plain names has no probe
of its own: one of that statement's arms tells as much.

A unit (the outermost function below module and class bodies) can be instrumented again
on its own, from its plain tree: its cells are those of :attr:`Instrumenter.spans`.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from fuzztui.engines.instrument.edges import Edge
from fuzztui.engines.instrument.fuel import (
    FUEL_PERIOD,
    begin_count,
    is_endless,
    loops_of,
    own_nodes,
    turn,
)
from fuzztui.engines.instrument.markers import compile_with, marker, placed

__all__ = ["FUEL_PERIOD", "Instrumenter", "compile_with"]

# What hardly ever raises: no calls, no subscripts, no arithmetic.
_HARMLESS: Final = (
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.Compare,
    ast.BoolOp,
    ast.UnaryOp,
    ast.Tuple,
    ast.expr_context,
    ast.boolop,
    ast.unaryop,
    ast.cmpop,
)
# What cannot raise because of how it compares. Whether a function was entered at all must
# be certain: a mutant of a comparison that raises in the program may not.
_NEVER_RAISES: Final = (
    *(kind for kind in _HARMLESS if kind not in (ast.cmpop, ast.unaryop)),
    *(ast.Not, ast.Is, ast.IsNot),
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Instrumenter(ast.NodeTransformer):
    """Instruments one module in place: ``Instrumenter(base).visit(tree)``, then ``edges``."""

    def __init__(self, base: int, *, counting: bool = False) -> None:
        """``base`` is the number of the module's first cell; ``counting`` counts hits."""
        self.edges: list[Edge] = []
        self.spans: dict[tuple[int, int], tuple[int, int]] = {}
        """First cell and the one after the last of each unit, by its node's line and column."""
        self._base = base
        self._counting = counting
        self._names: list[str] = []
        self._in_function = False
        self._fuel = ""  # how loops of this scope count: "", "local" or "tick"

    # ------------------------------------------------------------------ probes

    def _cell(self, kind: str, at: ast.AST) -> ast.Constant:
        self.edges.append(Edge(".".join(self._names), getattr(at, "lineno", 0), kind))
        return ast.Constant(self._base + len(self.edges) - 1)

    def _probe(self, kind: str, at: ast.AST) -> ast.stmt:
        """The statement ``cells[k] = 1``, or ``cells[k] = next[cells[k]]``."""
        cell = self._cell(kind, at)
        cells = marker("cells")
        value: ast.expr = ast.Constant(1)
        if self._counting:
            old = ast.Subscript(cells, cell, ast.Load())
            value = ast.Subscript(marker("next"), old, ast.Load())
        return placed(ast.Assign([ast.Subscript(cells, cell, ast.Store())], value), at)

    def _arm(self, kind: str, expr: ast.expr) -> ast.expr:
        """The expression ``arms.add(k) or expr``."""
        hit = ast.Call(marker("arm"), [self._cell(kind, expr)], [])
        return placed(ast.BoolOp(ast.Or(), [hit, expr]), expr)

    # ------------------------------------------------------------------ scopes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function: its defaults and decorators belong to the scope around it."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """As a plain function."""
        return self._function(node)

    def _function(self, node: _Function) -> ast.AST:
        node.decorator_list = [self._expr(d) for d in node.decorator_list]
        self._defaults(node.args)
        outer = self._in_function, self._fuel
        first = self._base + len(self.edges)
        self._names.append(node.name)
        self._in_function = True
        loops, sees_locals = loops_of(node.body)
        self._fuel = "" if not loops else "tick" if sees_locals else "local"
        head: list[ast.stmt] = []
        if _is_docstring(node.body[0]):
            head = [node.body.pop(0)]
        at: ast.AST = node.body[0] if node.body else head[0]
        if not _says_it_is_reached(at, _NEVER_RAISES):
            head.append(self._probe("entry", at))
        if self._fuel == "local":
            head.append(begin_count(at))
        node.body = head + self._block(node.body)
        self._leave(node, first, outer)
        return node

    def _leave(self, node: ast.AST, first: int, outer: tuple[bool, str]) -> None:
        self._names.pop()
        self._in_function, self._fuel = outer
        if not self._in_function:
            at: Any = node
            self.spans[at.lineno, at.col_offset] = first, self._base + len(self.edges)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A lambda: one arm, also where a module or class body makes it."""
        self._defaults(node.args)
        outer = self._in_function, self._fuel
        first = self._base + len(self.edges)
        self._names.append("<lambda>")
        self._in_function, self._fuel = True, ""
        node.body = self._arm("lambda", self._expr(node.body))
        self._leave(node, first, outer)
        return node

    def _defaults(self, args: ast.arguments) -> None:
        args.defaults = [self._expr(d) for d in args.defaults]
        args.kw_defaults = [d and self._expr(d) for d in args.kw_defaults]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """A class body: its methods count; a loop in it has no local to count in."""
        node.decorator_list = [self._expr(d) for d in node.decorator_list]
        node.bases = [self._expr(b) for b in node.bases]
        outer, self._fuel = self._fuel, "tick"
        self._names.append(node.name)
        node.body = self._block(node.body)
        self._names.pop()
        self._fuel = outer
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Annotations stay as they are: they may be turned into text."""
        if node.value is not None:
            node.value = self._expr(node.value)
        return node

    def visit_TypeAlias(self, node: ast.AST) -> ast.AST:
        """``type X = ...`` (3.12) is evaluated lazily, in a scope of its own."""
        return node

    # ------------------------------------------------------------------ blocks

    def _expr(self, node: ast.expr) -> ast.expr:
        visited: ast.expr = self.visit(node)
        return visited

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(s) for s in body]

    def _opened(self, kind: str, body: list[ast.stmt], extra: list[ast.stmt]) -> list[ast.stmt]:
        """A block with its probe in front."""
        own = [] if _says_it_is_reached(body[0]) else [self._probe(kind, body[0])]
        return [*extra, *own, *self._block(body)]

    def visit_If(self, node: ast.If) -> ast.AST:
        """Two arms, always."""
        node.test = self._expr(node.test)
        if not self._in_function:
            node.body, node.orelse = self._block(node.body), self._block(node.orelse)
            return node
        node.body = self._opened("then", node.body, [])
        if node.orelse:
            node.orelse = self._opened("else", node.orelse, [])
        else:
            node.orelse = [self._probe("else", node.test)]
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        """The body, and the exit through the condition unless that is a constant."""
        node.test = self._expr(node.test)
        exits = not isinstance(node.test, ast.Constant) and _can_leave(node.body)
        self._loop(node, node.test, endless=True, exits=exits)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """The body, and the exit at the iterable's end."""
        endless = is_endless(node.iter)
        node.iter = self._expr(node.iter)
        self._loop(node, node.target, endless=endless, exits=_can_leave(node.body))
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        """As a plain ``for``."""
        node.iter = self._expr(node.iter)
        self._loop(node, node.target, endless=True, exits=_can_leave(node.body))
        return node

    def _loop(
        self, node: ast.While | ast.For | ast.AsyncFor, at: ast.AST, *, endless: bool, exits: bool
    ) -> None:
        if not self._in_function:
            # No coverage, but fuel: a mutant may make an import endless.
            spent = turn("tick", node.body[0]) if endless else []
            node.body = [*spent, *self._block(node.body)]
            node.orelse = self._block(node.orelse)
            return
        spent = turn(self._fuel, node.body[0]) if endless else []
        node.body = self._opened("loop", node.body, spent)
        if node.orelse:
            node.orelse = self._opened("exit", node.orelse, [])
        elif exits:
            node.orelse = [self._probe("exit", at)]

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Handlers and the ``else`` are arms."""
        return self._try(node)

    def visit_TryStar(self, node: ast.TryStar) -> ast.AST:
        """``except*``: the same fields."""
        return self._try(node)

    def _try(self, node: ast.Try | ast.TryStar) -> ast.AST:
        node.body = self._block(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                handler.type = self._expr(handler.type)
            handler.body = self._arm_block("except", handler.body)
        if node.orelse:
            node.orelse = self._arm_block("no-except", node.orelse)
        node.finalbody = self._block(node.finalbody)
        return node

    def _arm_block(self, kind: str, body: list[ast.stmt]) -> list[ast.stmt]:
        return self._opened(kind, body, []) if self._in_function else self._block(body)

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Each case, and the fall-through where no case catches everything."""
        node.subject = self._expr(node.subject)
        for case in node.cases:
            if case.guard is not None:
                case.guard = self._expr(case.guard)
            case.body = self._arm_block("case", case.body)
        last = node.cases[-1]
        if self._in_function and (last.guard is not None or not _irrefutable(last.pattern)):
            missed = self._probe("no-case", node.subject)
            pattern = placed(ast.MatchAs(None, None), node.subject)
            node.cases.append(ast.match_case(pattern, None, [missed]))
        return node

    # ------------------------------------------------------------- expressions

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """``a if c else b``: two arms."""
        self.generic_visit(node)
        if self._in_function:
            node.body = self._arm("then", node.body)
            node.orelse = self._arm("else", node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Each operand after the first is an arm of those before it."""
        self.generic_visit(node)
        if self._in_function:
            kind = "and" if isinstance(node.op, ast.And) else "or"
            node.values[1:] = [self._arm(kind, v) for v in node.values[1:]]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """Elements that passed the condition."""
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        """Elements that passed the condition."""
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Elements that passed the condition."""
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """Keys that passed the condition."""
        return self._comprehension(node)

    def _comprehension(self, node: _Comprehension) -> ast.AST:
        self.generic_visit(node)
        if self._in_function and any(g.ifs for g in node.generators):
            if isinstance(node, ast.DictComp):
                node.key = self._arm("kept", node.key)
            else:
                node.elt = self._arm("kept", node.elt)
        return node


def _says_it_is_reached(node: ast.AST, harmless: tuple[type, ...] = _HARMLESS) -> bool:
    """Is it an ``if`` that is sure to enter one of its arms, each of which has a probe?"""
    return isinstance(node, ast.If) and all(isinstance(n, harmless) for n in ast.walk(node.test))


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _can_leave(body: list[ast.stmt]) -> bool:
    """Can the loop of this body be left other than by its normal exit?"""
    return any(isinstance(n, ast.Break | ast.Return) for n in own_nodes(body))


def _irrefutable(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _irrefutable(pattern.pattern)
    if isinstance(pattern, ast.MatchOr):
        return any(_irrefutable(p) for p in pattern.patterns)
    return False
