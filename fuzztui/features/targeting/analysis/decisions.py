"""The goals of a module: the branches that the engine's instrumenter probes, and their cells.

The engine covers cells of the coverage map. A subclass of the engine's own instrumenter records
which cell belongs to which branch, so that the analysis and the engine always agree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fuzztui.engines.instrument.instrument import Instrumenter
from fuzztui.features.targeting.analysis.definitions import Key, key, span


@dataclass(slots=True)
class Branch:
    """One way out of a decision: a goal."""

    kind: str
    line: int
    column: int
    """Column of the deciding expression, from 0."""
    cells: list[int]
    """The branch is covered if any of these is; several if it has no probe of its own."""
    within: list[int]
    """The block that contains the decision was entered if any of these is covered.

    After an ``if`` with one branch that always leaves, the block starts with the other branch.
    """


@dataclass(slots=True)
class Decision:
    """A decision. Each operand of an ``and`` or ``or`` after the first is a separate decision."""

    key: Key
    function: str
    branches: list[Branch] = field(default_factory=list)


def decisions(tree: ast.Module) -> list[Decision]:
    """Return the decisions in functions of a module, in textual order. Modifies the tree.

    Raises :class:`RecursionError` if the engine would not instrument the module.
    """
    notes = _Notes()
    notes.visit(tree)
    return [d for d in notes.found if d.branches]


def _leaves(block: list[ast.stmt]) -> bool:
    """Whether a block always leaves, so that the statement after it is not executed next."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)


class _Notes(Instrumenter):
    """Instruments, and records to which branch of which decision each probe belongs."""

    def __init__(self) -> None:
        super().__init__(0)
        self.found: list[Decision] = []
        self._deciding: list[Decision] = []
        self._of: dict[ast.AST, Decision] = {}
        self._places: dict[int, ast.AST] = {}
        """Deciding expression of each block, by the identity of its list of statements."""
        self._within: list[list[int]] = [[]]
        self._behind: dict[int, list[int]] = {}
        """Cells that show that a block's end was reached, by the identity of its statements."""
        self._unprobed: Branch | None = None

    def _branch_at(self, kind: str, at: ast.AST, decision: Decision, cells: list[int]) -> Branch:
        line, column, *_ = span(at)
        decision.branches.append(Branch(kind, line, column, cells, self._within[-1]))
        return decision.branches[-1]

    def _note(self, name: Key) -> Decision:
        self.found.append(Decision(name, ".".join(self._names)))
        return self.found[-1]

    @contextmanager
    def _decides(self, node: ast.AST) -> Iterator[None]:
        self._of[node] = self._note(key(node))
        self._deciding.append(self._of[node])
        yield
        self._deciding.pop()

    # ------------------------------------------------------------------ probes

    def _probe(self, kind: str, at: ast.AST) -> list[ast.stmt]:
        cell = len(self.edges)
        if kind == "entry":
            self._within[-1].append(cell)
        elif self._unprobed is not None:
            self._unprobed.cells.append(cell)
            self._unprobed = None
        else:
            self._branch_at(kind, at, self._deciding[-1], [cell])
        return super()._probe(kind, at)

    def _arm(self, kind: str, expr: ast.expr) -> ast.expr:
        cell = len(self.edges)
        if kind == "lambda":
            self._within[-1].append(cell)
        elif kind in ("and", "or"):
            self._branch_at(kind, expr, self._note(("operand", span(expr))), [cell])
        else:
            decision = self._deciding[-1]
            self._branch_at(kind, self._places.get(id(decision), expr), decision, [cell])
        return super()._arm(kind, expr)

    def _opened(self, kind: str, body: list[ast.stmt], extra: list[ast.stmt]) -> list[ast.stmt]:
        at = self._places.get(id(body), body[0])
        branch = self._branch_at(kind, at, self._deciding[-1], [])
        # The next probe that is made is the block's, if it has one.
        self._unprobed = branch
        self._within.append(branch.cells)
        opened = super()._opened(kind, body, extra)
        self._behind[id(body)] = self._within.pop()
        if not branch.cells:
            branch.cells += self._cells_of(body[0])
        return opened

    def _cells_of(self, node: ast.AST) -> list[int]:
        return [cell for branch in self._of[node].branches for cell in branch.cells]

    # ------------------------------------------------------------------ scopes

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        entry: list[int] = []
        self._within.append(entry)
        super()._function(node)
        self._within.pop()
        if not entry:  # it starts with an `if`, whose cells show the entry
            entry += self._cells_of(next(s for s in node.body if isinstance(s, ast.If)))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """The body is a separate block."""
        self._within.append([])
        super().visit_Lambda(node)
        self._within.pop()
        return node

    # ---------------------------------------------------------------- branches

    def visit_If(self, node: ast.If) -> ast.AST:
        """Decision on the test."""
        body, other = node.body, node.orelse
        self._places |= {id(body): node.test, id(other): node.test}
        leaves = [_leaves(block) for block in (body, other)]
        with self._decides(node):
            super().visit_If(node)
        branches = self._of[node].branches
        if branches and leaves == [True, False]:
            self._within[-1] = self._behind[id(other)] if other else branches[-1].cells
        elif branches and leaves == [False, True]:
            self._within[-1] = self._behind[id(body)]
        return node

    def _loop(
        self, node: ast.While | ast.For | ast.AsyncFor, at: ast.AST, *, endless: bool, exits: bool
    ) -> None:
        self._places |= {id(node.body): at, id(node.orelse): at}
        with self._decides(node):
            super()._loop(node, at, endless=endless, exits=exits)

    def _try(self, node: ast.Try | ast.TryStar) -> ast.AST:
        self._places |= {id(handler.body): handler for handler in node.handlers}
        around = self._within[-1]
        with self._decides(node):
            super()._try(node)
        self._within[-1] = around  # a handler may continue after the ``try``
        return node

    def visit_With(self, node: ast.With | ast.AsyncWith) -> ast.AST:
        """An exception raised in the block may be suppressed."""
        around = self._within[-1]
        self.generic_visit(node)
        self._within[-1] = around
        return node

    visit_AsyncWith = visit_With

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Decision on the subject."""
        self._places |= {id(case.body): case.pattern for case in node.cases}
        with self._decides(node):
            return super().visit_Match(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Decision on the test."""
        with self._decides(node):
            self._places[id(self._of[node])] = node.test
            return super().visit_IfExp(node)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> ast.AST:
        with self._decides(node):
            test = next((t for g in node.generators for t in g.ifs), node)
            self._places[id(self._of[node])] = test
            return super()._comprehension(node)
