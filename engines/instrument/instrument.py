"""Instrument the AST of a module: coverage probes and loop fuel.

*Statement probes* (``cells[k] = 1``) are at the start of every block: function bodies, both
branches of ``if`` (a missing ``else`` is added), loop bodies, normal exits of loops that have
other exits, handlers, cases, and "no case matched". *Expression probes* (``arms.add(k) or expr``)
are in the branches of conditional expressions, right operands of ``and``/``or``, lambdas, and
elements that the condition of a comprehension accepts. ``cells`` and ``arms.add`` are constants of
the code object, in place of a marker. So a probe costs about 15 ns and needs no name in the module.

*Fuel*: a loop that may be endless (``while``, ``for`` over ``range``, ``count`` and so on) counts
its iterations in a local, and reports every 256 iterations to the guard. The guard ends a run with
too many iterations, which is repeatable, unlike a time limit. In modules and class bodies, where a
local would be an attribute, each iteration is a call.

Only code in functions has probes: code that runs on import does not depend on the input.
Inserted nodes have the source position of the block that they open, so tracebacks are right. A
block that begins with an ``if`` on plain names has no probe: the branches of the ``if`` have some.

A unit (the outermost function below module and class bodies) can be instrumented again alone, from
its original tree, or with probes for some of its cells only. Its cells are in
:attr:`Instrumenter.spans`.
"""

from __future__ import annotations

import ast
from collections.abc import Container
from typing import Any, Final, NamedTuple

from fuzztui.engines.instrument.edges import Edge
from fuzztui.engines.instrument.fuel import begin_count, is_endless, own_statements, turn, way_of
from fuzztui.engines.instrument.markers import marker, placed

# Expressions that rarely raise: no calls, no subscripts, no arithmetic.
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
# Expressions that cannot raise in a comparison. The entry of a function must be certain, because
# a comparison that raises in the original may not raise in a mutant.
_NEVER_RAISES: Final = (
    *(kind for kind in _HARMLESS if kind not in (ast.cmpop, ast.unaryop)),
    *(ast.Not, ast.Is, ast.IsNot),
)
LAMBDA: Final = "<lambda>"
"""The name of a unit that is a lambda."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVING: Final = (ast.Break, ast.Return)
_LEAVES: Final = (ast.Name, ast.Constant, ast.expr_context, ast.boolop, ast.operator, ast.unaryop)
"""Nodes in which nothing is instrumented."""
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class UnitSpan(NamedTuple):
    """The position of a unit in its module, and its cells: the first one, and the last one + 1.

    ``first_line``: line of the first decorator; ``line`` if the unit has none. ``classes``: the
    classes around it, the outermost first: name and type parameters of each.
    """

    name: str
    line: int
    column: int
    end_line: int
    end_column: int
    first_line: int
    cells: tuple[int, int]
    classes: tuple[tuple[str, tuple[str, ...]], ...]


class Instrumenter(ast.NodeTransformer):
    """Instruments one module in place: ``Instrumenter(base).visit(tree)``, then ``edges``.

    A unit can be instrumented again in its own tree, without what is evaluated outside the unit.
    Cells in ``removed`` then have no probe.
    """

    def __init__(
        self,
        base: int,
        *,
        counting: bool = False,
        removed: Container[int] = (),
    ) -> None:
        """``base``: number of the first cell. ``counting``: probes count hits."""
        self.edges: list[Edge] = []
        """The cells, in order."""
        self.spans: dict[tuple[int, int], UnitSpan] = {}
        """The units, by line and column."""
        self.imports: set[str] = set()
        """The names that imports of the module's own scope bind."""
        self._next = base
        self._counting = counting
        self._removed = removed
        self._names: list[str] = []
        self._classes: list[tuple[str, tuple[str, ...]]] = []
        self._in_function = False
        self._fuel = ""  # how loops of this scope count: "", "local" or "tick"

    # ------------------------------------------------------------------ probes

    def _cell(self, kind: str, at: ast.AST) -> ast.Constant | None:
        """The number of the next cell; None if its probe is removed."""
        self.edges.append(Edge(".".join(self._names), getattr(at, "lineno", 0), kind))
        number = self._next
        self._next += 1
        return None if number in self._removed else ast.Constant(number)

    def _probe(self, kind: str, at: ast.AST) -> list[ast.stmt]:
        """The statement ``cells[k] = 1``, or ``cells[k] = next[cells[k]]``; none if removed."""
        cell = self._cell(kind, at)
        if cell is None:
            return []
        cells = marker("cells")
        value: ast.expr = ast.Constant(1)
        if self._counting:
            old = ast.Subscript(cells, cell, ast.Load())
            value = ast.Subscript(marker("next"), old, ast.Load())
        return [placed(ast.Assign([ast.Subscript(cells, cell, ast.Store())], value), at)]

    def _arm(self, kind: str, expr: ast.expr) -> ast.expr:
        """The expression ``arms.add(k) or expr``; ``expr`` if its probe is removed."""
        cell = self._cell(kind, expr)
        if cell is None:
            return expr
        hit = ast.Call(marker("arm"), [cell], [])
        return placed(ast.BoolOp(ast.Or(), [hit, expr]), expr)

    # ------------------------------------------------------------------ scopes

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Instrument all children, each of which is replaced by one node."""
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                value[:] = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                setattr(node, name, self.visit(value))
        return node

    def visit_FunctionDef(self, node: _Function) -> ast.AST:
        """Instrument a function; its defaults and decorators belong to the outer scope."""
        return self._function(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _function(self, node: _Function) -> ast.AST:
        node.decorator_list = [self._expr(d) for d in node.decorator_list]
        self._defaults(node.args)
        outer = self._in_function, self._fuel
        first = self._next
        self._names.append(node.name)
        self._in_function = True
        self._fuel = way_of(node.body)
        head: list[ast.stmt] = []
        if _is_docstring(node.body[0]):
            head = [node.body.pop(0)]
        at: ast.AST = node.body[0] if node.body else head[0]
        if not _probes_itself(at, _NEVER_RAISES):
            head += self._probe("entry", at)
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
            decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
            self.spans[at.lineno, at.col_offset] = UnitSpan(
                name=getattr(node, "name", LAMBDA),
                line=at.lineno,
                column=at.col_offset,
                end_line=at.end_lineno,
                end_column=at.end_col_offset,
                first_line=min(at.lineno, *decorators) if decorators else at.lineno,
                cells=(first, self._next),
                classes=(*self._classes,),
            )

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Instrument a lambda: one cell, also in a module or class body."""
        self._defaults(node.args)
        outer = self._in_function, self._fuel
        first = self._next
        self._names.append(LAMBDA)
        self._in_function, self._fuel = True, ""
        node.body = self._arm("lambda", self._expr(node.body))
        self._leave(node, first, outer)
        return node

    def _defaults(self, args: ast.arguments) -> None:
        args.defaults = [self._expr(d) for d in args.defaults]
        args.kw_defaults = [d and self._expr(d) for d in args.kw_defaults]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Instrument methods; loops of the class body itself have no local for fuel."""
        node.decorator_list = [self._expr(d) for d in node.decorator_list]
        node.bases = [self._expr(b) for b in node.bases]
        outer, self._fuel = self._fuel, "tick"
        self._names.append(node.name)
        params = getattr(node, "type_params", ())
        self._classes.append((node.name, tuple(param.name for param in params)))
        node.body = self._block(node.body)
        self._classes.pop()
        self._names.pop()
        self._fuel = outer
        return node

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.AST:
        """Note the names that the module imports."""
        if not self._in_function and not self._classes:
            self.imports |= {name.asname or name.name.partition(".")[0] for name in node.names}
        return node

    visit_ImportFrom = visit_Import

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Instrument the value only: annotations may be used as text."""
        if node.value is not None:
            node.value = self._expr(node.value)
        return node

    def visit_TypeAlias(self, node: ast.AST) -> ast.AST:
        """Leave ``type X = ...`` (3.12) unchanged: it is evaluated lazily, in its own scope."""
        return node

    # ------------------------------------------------------------------ blocks

    def _expr(self, node: ast.expr) -> ast.expr:
        visited: ast.expr = self.visit(node)
        return visited

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(s) for s in body]

    def _opened(self, kind: str, body: list[ast.stmt], extra: list[ast.stmt]) -> list[ast.stmt]:
        """The block with its probe, after the statements ``extra``."""
        own = [] if _probes_itself(body[0]) else self._probe(kind, body[0])
        return [*extra, *own, *self._block(body)]

    def visit_If(self, node: ast.If) -> ast.AST:
        """Probe both branches, also a missing ``else``."""
        node.test = self._expr(node.test)
        if not self._in_function:
            node.body, node.orelse = self._block(node.body), self._block(node.orelse)
            return node
        node.body = self._opened("then", node.body, [])
        if node.orelse:
            node.orelse = self._opened("else", node.orelse, [])
        else:
            node.orelse = self._probe("else", node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        """Probe the body, and the exit by the condition unless it is a constant."""
        node.test = self._expr(node.test)
        exits = not isinstance(node.test, ast.Constant) and _can_leave(node.body)
        self._loop(node, node.test, endless=True, exits=exits)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """Probe the body, and the exit at the end of the iterable."""
        endless = is_endless(node.iter)
        node.iter = self._expr(node.iter)
        self._loop(node, node.target, endless=endless, exits=_can_leave(node.body))
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        """Probe as a plain ``for``."""
        node.iter = self._expr(node.iter)
        self._loop(node, node.target, endless=True, exits=_can_leave(node.body))
        return node

    def _loop(
        self, node: ast.While | ast.For | ast.AsyncFor, at: ast.AST, *, endless: bool, exits: bool
    ) -> None:
        if not self._in_function:
            # Fuel without coverage: a mutant may make an import endless.
            spent = turn("tick", node.body[0]) if endless else []
            node.body = [*spent, *self._block(node.body)]
            node.orelse = self._block(node.orelse)
            return
        spent = turn(self._fuel, node.body[0]) if endless else []
        node.body = self._opened("loop", node.body, spent)
        if node.orelse:
            node.orelse = self._opened("exit", node.orelse, [])
        elif exits:
            node.orelse = self._probe("exit", at)

    def visit_Try(self, node: ast.Try | ast.TryStar) -> ast.AST:
        """Probe the handlers and the ``else``."""
        return self._try(node)

    visit_TryStar = visit_Try

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
        """Probe each case, and "no case matched" unless the last case is irrefutable."""
        node.subject = self._expr(node.subject)
        for case in node.cases:
            if case.guard is not None:
                case.guard = self._expr(case.guard)
            case.body = self._arm_block("case", case.body)
        last = node.cases[-1]
        may_miss = last.guard is not None or not _irrefutable(last.pattern)
        if self._in_function and may_miss and (missed := self._probe("no-case", node.subject)):
            pattern = placed(ast.MatchAs(None, None), node.subject)
            node.cases.append(ast.match_case(pattern, None, missed))
        return node

    # ------------------------------------------------------------- expressions

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Probe both branches of ``a if c else b``."""
        self.generic_visit(node)
        if self._in_function:
            node.body = self._arm("then", node.body)
            node.orelse = self._arm("else", node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Probe each operand after the first."""
        self.generic_visit(node)
        if self._in_function:
            kind = "and" if isinstance(node.op, ast.And) else "or"
            node.values[1:] = [self._arm(kind, v) for v in node.values[1:]]
        return node

    def visit_ListComp(self, node: _Comprehension) -> ast.AST:
        """Probe elements (of a dict: keys) that the condition accepts."""
        return self._comprehension(node)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def _comprehension(self, node: _Comprehension) -> ast.AST:
        self.generic_visit(node)
        if self._in_function and any(g.ifs for g in node.generators):
            if isinstance(node, ast.DictComp):
                node.key = self._arm("kept", node.key)
            else:
                node.elt = self._arm("kept", node.elt)
        return node


def _probes_itself(node: ast.AST, harmless: tuple[type, ...] = _HARMLESS) -> bool:
    """Whether this is an ``if`` that always enters one of its branches, which have probes."""
    return isinstance(node, ast.If) and all(isinstance(n, harmless) for n in ast.walk(node.test))


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _can_leave(body: list[ast.stmt]) -> bool:
    """Whether the loop with this body has another exit than its normal one."""
    return any(isinstance(n, _LEAVING) for n in own_statements(body))


def _irrefutable(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _irrefutable(pattern.pattern)
    if isinstance(pattern, ast.MatchOr):
        return any(_irrefutable(p) for p in pattern.patterns)
    return False
