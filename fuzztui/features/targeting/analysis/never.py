"""Find branches that are never taken, as mypy infers: the annotated subject's type is ``Never``.

Mutations could be directed at these branches for ever. Only exhausted subjects count: no case of a
``match``, or the ``else`` of a chain of ``isinstance``, ``is``, ``==`` and ``in`` on one subject.
mypy narrows more than is true at run time (it assumes that calls do not change attributes), so the
subject must be a local variable, or have its whole declared type at the first test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Final

from fuzztui.features.targeting.analysis.mypyapi import mypy_types, nodes

Never = tuple[str, int, int, str]
"""Class of the decision's node in ``ast``, its line and column, and the kind of the branch."""

_TESTS: Final = frozenset({"is", "==", "in"})
_FLAG: Final = "enum.Flag"
"""Combinations of its members are not members."""
_PROMOTED: Final = frozenset({"builtins.float", "builtins.complex"})
"""An int is allowed if one of these is annotated, but is not an instance of it."""
_CONSTANTS: Final = frozenset({"builtins.None", "builtins.True", "builtins.False"})


def never_taken(
    every: Iterable[nodes.Node],
    types: Mapping[nodes.Expression, Any],
    *,
    inexhaustive: Set[int],
    doubtful: Set[str],
    guessed: bool,
) -> Iterator[Never]:
    """Yield the never taken branches among all nodes of a module.

    ``inexhaustive``: lines of each ``match`` that mypy reports as not exhaustive. ``doubtful``:
    names whose types are not annotated in the program. ``guessed``: whether annotations were
    observed, so that types inferred by mypy prove nothing.
    """
    found = _Subjects(types, doubtful, guessed)
    chains: dict[nodes.IfStmt, nodes.IfStmt] = {}
    branches = []
    twice: list[range] = []
    for node in every:
        if isinstance(node, nodes.IfStmt):
            branches.append(node)
            block = node.else_body.body if node.else_body else []
            if len(block) == 1 and isinstance(block[0], nodes.IfStmt):
                chains[block[0]] = node
        elif isinstance(node, nodes.TryStmt) and node.finally_body:
            body = node.finally_body.body
            twice.append(range(body[0].line, (body[-1].end_line or body[-1].line) + 1))
        elif isinstance(node, nodes.MatchStmt) and found.is_proof(node.subject):
            if node.guards[-1] is not None:
                continue  # mypy does not report what the guard leaves over
            if _is_skipped(node.bodies[-1].body[0], types):
                pattern = node.patterns[-1]
                yield "Match", pattern.line, pattern.column, "case"
            if node.line not in inexhaustive:
                yield "Match", node.line, node.column, "no-case"
    for node in branches:
        if any(node.line in lines for lines in twice):
            continue  # mypy's last result is for an end without an exception
        subject = first = _subject(node.expr[0]) if node.unreachable_else else None
        at: nodes.IfStmt | None = node
        while subject is not None and (at := chains.get(at)):  # type: ignore[arg-type]
            before = _subject(at.expr[0])
            if before is None or _words(before) != _words(subject):
                break
            first = before
        if first is not None and found.is_proof(first):
            yield "If", node.line, node.column, "else"


def _is_skipped(node: nodes.Statement, types: Mapping[nodes.Expression, Any]) -> bool:
    """Whether mypy did not check a statement because it is unreachable."""
    value = node.expr if isinstance(
        node, nodes.ExpressionStmt | nodes.RaiseStmt | nodes.ReturnStmt | nodes.AssertStmt
    ) else None  # fmt: skip
    return value is not None and value not in types


def _subject(test: nodes.Expression) -> nodes.Expression | None:
    """Return the subject of a test that narrows its type; None for other tests."""
    if isinstance(test, nodes.CallExpr) and isinstance(test.callee, nodes.NameExpr):
        return test.args[0] if test.callee.fullname == "builtins.isinstance" else None
    if isinstance(test, nodes.ComparisonExpr) and len(test.operators) == 1:
        return test.operands[0] if test.operators[0] in _TESTS else None
    if isinstance(test, nodes.OpExpr) and test.op == "or":
        left, right = _subject(test.left), _subject(test.right)
        same = left is not None and right is not None and _words(left) == _words(right)
        return left if same else None
    return None


def _words(node: nodes.Expression) -> str:
    """Return a dotted name; a unique text for other expressions."""
    if isinstance(node, nodes.NameExpr):
        return node.name
    if isinstance(node, nodes.MemberExpr):
        return f"{_words(node.expr)}.{node.name}"
    return f"<{id(node)}>"


class _Subjects:
    def __init__(
        self, types: Mapping[nodes.Expression, Any], doubtful: Set[str], guessed: bool
    ) -> None:
        self._types, self._doubtful, self._guessed = types, doubtful, guessed

    def is_proof(self, subject: nodes.Expression) -> bool:
        """Whether mypy's type of the subject includes all its values at run time."""
        kind = self._types.get(subject)
        if kind is None or not _is_closed(kind):
            return False
        if isinstance(subject, nodes.CallExpr):
            return not self._guessed
        variable = self._variable(subject)
        if variable is None or variable.name in self._doubtful:
            return False
        if self._guessed and variable.is_inferred:
            return False
        if isinstance(subject, nodes.NameExpr) and "." not in variable.fullname:
            return True
        declared = variable.type
        return declared is not None and _same(kind, declared)

    def _variable(self, subject: nodes.Expression) -> nodes.Var | None:
        node: object = None
        if isinstance(subject, nodes.NameExpr):
            node = None if subject.fullname in _CONSTANTS else subject.node
        elif isinstance(subject, nodes.MemberExpr):
            kind: mypy_types.Type | None = self._types.get(subject.expr)
            of = mypy_types.get_proper_type(kind)
            if isinstance(of, mypy_types.Instance) and (at := of.type.get(subject.name)):
                node = at.node
        return node if isinstance(node, nodes.Var) and not node.is_property else None


def _same(a: mypy_types.Type, b: mypy_types.Type) -> bool:
    return mypy_types.get_proper_type(a) == mypy_types.get_proper_type(b)


def _is_closed(kind: mypy_types.Type) -> bool:
    """Whether a value of this type must be an instance of one of known classes."""
    kind = mypy_types.get_proper_type(kind)
    if isinstance(kind, mypy_types.UnionType):
        return all(map(_is_closed, kind.items))
    if isinstance(kind, mypy_types.Instance):
        return not any(base.fullname in {_FLAG, *_PROMOTED} for base in kind.type.mro)
    return isinstance(kind, mypy_types.LiteralType | mypy_types.NoneType)
