"""The mutation operators: PIT's defaults (paper, section II-B) on Python's syntax tree.

An operator is a generator function that yields the :class:`Mutation`\\ s of one node. The mutated
node evaluates the original's operands in the same order. Side effects of the operands are therefore
no difference, and the free variables of the function do not change.
"""

from __future__ import annotations

import ast
import operator as op
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.engines.instrument.markers import marker
from fuzztui.engines.mutants import infection
from fuzztui.engines.mutants.infection import Watch, empty_of
from fuzztui.engines.mutants.text import Cut, ModuleText

# The roles of a node: how its value is used.
VALUE: Final = "value"
TEST: Final = "test"
"""A boolean leaf of a condition: only its truth value matters."""
PREDICATE: Final = "predicate"
"""A ``return`` of a function that is annotated with ``-> bool``."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutation of one node.

    ``site`` distinguishes places within the node (the operators of ``a < b < c``), ``variant`` the
    mutations of one place. ``make`` returns the mutated node, ``cuts`` the edits of the source for
    lists. ``watch`` is a name in :data:`WATCHES`, or empty if every evaluation infects.
    """

    variant: str
    make: Callable[[], ast.AST]
    cuts: Callable[[ModuleText], Sequence[Cut]]
    watch: str = ""
    site: int = 0
    exact: Callable[[ModuleText, str], Sequence[Cut]] | None = None
    """The edits that mean just what ``make`` does, if ``cuts`` leave an evaluation out. Called with
    the text and the source of :func:`~fuzztui.engines.mutants.infection.empty_of`."""


@dataclass(frozen=True, slots=True)
class MutationOperator:
    """A rule that makes mutations. ``roles``: the roles of a node to which the rule applies."""

    name: str
    description: str
    changes: Callable[[ast.AST, str], Iterator[Mutation]]
    roles: tuple[str, ...] = (VALUE,)


_SYMBOL: Final[dict[type[ast.AST], str]] = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"},
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//"},
    **{ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>"},
    **{ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"},
}
_BOUNDARY: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
}
_NEGATED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In},
}
_MATH: Final[dict[type[ast.operator], type[ast.operator]]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd},
    **{ast.LShift: ast.RShift, ast.RShift: ast.LShift},
}
# Without ** and shifts, whose cost cannot be estimated from the size of the operands.
_CALCULATED: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    **{ast.Add: op.add, ast.Sub: op.sub, ast.Mult: op.mul, ast.Div: op.truediv},
    **{ast.FloorDiv: op.floordiv, ast.Mod: op.mod},
    **{ast.BitAnd: op.and_, ast.BitOr: op.or_, ast.BitXor: op.xor},
}
WATCHES: Final[dict[str, Watch]] = {
    **{"ordering": infection.ordering, "not 0": infection.not_zero},
    **{f"not {constant}": infection.not_this(constant) for constant in (None, True, False)},
    "not empty": infection.not_empty,
    **{
        f"{_SYMBOL[old]} {_SYMBOL[new]}": infection.arithmetic(_CALCULATED[old], _CALCULATED[new])
        for old, new in _MATH.items()
        if old in _CALCULATED and new in _CALCULATED
    },
}
"""The watches of all mutations by their names."""


# ------------------------------------------------------------------ comparisons


def _comparisons(
    node: ast.AST, table: dict[type[ast.cmpop], type[ast.cmpop]], watch: str
) -> Iterator[Mutation]:
    if not isinstance(node, ast.Compare):
        return
    for i, old in enumerate(node.ops):
        new = table.get(type(old))
        if new is None:
            continue
        left = node.comparators[i - 1] if i else node.left

        def make(node: ast.Compare = node, i: int = i, new: type[ast.cmpop] = new) -> ast.AST:
            ops = [*node.ops[:i], new(), *node.ops[i + 1 :]]
            return ast.Compare(node.left, ops, node.comparators)

        yield Mutation(
            _SYMBOL[new].replace(" ", "-"),
            make,
            _symbol_cut(left, node.comparators[i], type(old), new),
            watch if len(node.ops) == 1 else "",
            site=i,
        )


def _boundary(node: ast.AST, role: str) -> Iterator[Mutation]:
    return _comparisons(node, _BOUNDARY, "ordering")


def _negate(node: ast.AST, role: str) -> Iterator[Mutation]:
    if isinstance(node, ast.Compare):
        yield from _comparisons(node, _NEGATED, "")
    elif role == TEST and isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
        opening, closing = "not ", ""
        if isinstance(node, ast.NamedExpr | ast.IfExp | ast.Lambda | ast.Yield | ast.YieldFrom):
            opening, closing = "not (", ")"

        def cuts(text: ModuleText) -> list[Cut]:
            start, end = text.span(node)
            return [Cut(start, start, opening), Cut(end, end, closing)]

        yield Mutation("not", lambda: ast.UnaryOp(ast.Not(), node), cuts)


# ------------------------------------------------------------------- arithmetic


def _math(node: ast.AST, role: str) -> Iterator[Mutation]:
    if isinstance(node, ast.AugAssign) and type(node.op) not in (ast.Add, ast.Sub):
        yield from _assigned(node)
    if not isinstance(node, ast.BinOp) or is_sequence(node):
        return
    old, new = type(node.op), _MATH.get(type(node.op))
    if new is None or _folds_to_the_same(node, new):
        return

    def make() -> ast.AST:
        return ast.BinOp(node.left, new(), node.right)

    def cuts(text: ModuleText) -> list[Cut]:
        cuts = [text.between(node.left, node.right, _SYMBOL[old], _SYMBOL[new])]
        if old in (
            ast.Pow,
            ast.BitAnd,
            ast.BitOr,
            ast.BitXor,
        ):  # the new operator has another precedence
            for part in (node, node.left, node.right):
                if isinstance(part, ast.BinOp | ast.UnaryOp) and not text.stands_alone(part):
                    start, end = text.span(part)
                    cuts += [Cut(start, start, "("), Cut(end, end, ")")]
        return cuts

    yield Mutation(_SYMBOL[new], make, cuts, _watch_of(node, new))


def _increments(node: ast.AST, role: str) -> Iterator[Mutation]:
    if isinstance(node, ast.AugAssign) and type(node.op) in (ast.Add, ast.Sub):
        yield from _assigned(node)


def _assigned(node: ast.AugAssign) -> Iterator[Mutation]:
    old, new = type(node.op), _MATH.get(type(node.op))
    if new is None or is_sequence(node.value):
        return
    yield Mutation(
        _SYMBOL[new] + "=",
        lambda: ast.AugAssign(node.target, new(), node.value),
        _symbol_cut(node.target, node.value, old, new),
    )


def _negatives(node: ast.AST, role: str) -> Iterator[Mutation]:
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.USub):
        return
    constant = isinstance(node.operand, ast.Constant)
    if constant and type(node.operand.value) is int and node.operand.value == 0:  # type: ignore[attr-defined]
        return

    def cuts(text: ModuleText) -> list[Cut]:
        start, _ = text.span(node)
        return [Cut(start, start + 1, "")]

    yield Mutation("drop", lambda: node.operand, cuts, "" if constant else "not 0")


def _folds_to_the_same(node: ast.BinOp, new: type[ast.operator]) -> bool:
    """Whether both operands are constants and the result is unchanged: an equivalent mutant."""
    a, b = getattr(node.left, "value", None), getattr(node.right, "value", None)
    if not all(isinstance(n, ast.Constant) for n in (node.left, node.right)):
        return False
    watch = WATCHES.get(_watch_of(node, new))
    return watch is not None and not watch(a, b)


def _watch_of(node: ast.BinOp, new: type[ast.operator]) -> str:
    name = f"{_SYMBOL[type(node.op)]} {_SYMBOL[new]}"
    return name if name in WATCHES else ""


# --------------------------------------------------------------- returns, calls


def _returns(node: ast.AST, role: str) -> Iterator[Mutation]:
    """Return ``None`` and the empty value of the type, or the other of ``True`` and ``False``.

    The mutated statement evaluates the expression, then returns the constant.
    """
    if not isinstance(node, ast.Return) or node.value is None:
        return
    value = node.value
    constant = isinstance(value, ast.Constant)
    if role == PREDICATE or is_boolean(value):
        for other in (True, False):
            if not constant or value.value is not other:  # type: ignore[attr-defined]
                watch = "" if constant else f"not {other}"
                yield _returning(node, str(other), str(other).lower(), watch)
        return
    if constant and value.value is None:  # type: ignore[attr-defined]
        return
    yield _returning(node, "None", "none", "" if constant else "not None")
    literal = empty_literal(value)
    if literal is None or is_empty(value):
        return
    infects = "" if constant else "not empty"
    if literal and "(" not in literal:  # set() may be another name's
        yield _returning(node, literal, "empty", infects)
        return

    def make() -> ast.AST:
        return ast.Return(ast.Call(marker("empty"), [value], []))

    def cuts(text: ModuleText) -> list[Cut]:
        return [Cut(*text.span(value), literal or f"empty({text.of(value)})")]

    def exact(text: ModuleText, empty: str) -> list[Cut]:
        return [Cut(*text.span(value), f"({empty})({_bracketed(text, value)})")]

    yield Mutation("empty", make, cuts, infects, exact=exact)


def _returning(node: ast.Return, literal: str, variant: str, watch: str) -> Mutation:
    value = node.value
    assert value is not None

    def make() -> ast.AST:
        new = ast.copy_location(ast.parse(literal, mode="eval").body, value)
        if isinstance(value, ast.Constant):
            return ast.Return(new)
        both = ast.Tuple([value, new], ast.Load())
        return ast.Return(ast.Subscript(both, ast.Constant(1), ast.Load()))

    def cuts(text: ModuleText) -> list[Cut]:
        return [Cut(*text.span(value), literal)]

    def exact(text: ModuleText, _: str) -> list[Cut]:
        return [Cut(*text.span(value), f"({_bracketed(text, value)}, {literal})[1]")]

    return Mutation(variant, make, cuts, watch, exact=exact)


def _bracketed(text: ModuleText, node: ast.expr) -> str:
    simple = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.List)
    return text.of(node) if simple else f"({text.of(node)})"


def _void_call(node: ast.AST, role: str) -> Iterator[Mutation]:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return
    call = node.value

    def make() -> ast.AST:
        parts = [call.func, *call.args, *(k.value for k in call.keywords)]
        return ast.Expr(ast.Tuple(parts, ast.Load()))

    yield Mutation("drop", make, lambda text: [Cut(*text.span(node), "pass")])


def _symbol_cut(
    left: ast.AST, right: ast.AST, old: type[ast.AST], new: type[ast.AST]
) -> Callable[[ModuleText], Sequence[Cut]]:
    return lambda text: [text.between(left, right, _SYMBOL[old], _SYMBOL[new])]


OPERATORS: Final = (
    MutationOperator("boundary", "conditional boundary: < becomes <=", _boundary),
    MutationOperator("increments", "increments: += becomes -=", _increments),
    MutationOperator("negatives", "invert negatives: -a becomes a", _negatives),
    MutationOperator("math", "arithmetic and bit operators: + becomes -", _math),
    MutationOperator(
        "negate",
        "negate conditionals: == becomes !=",
        _negate,
        (VALUE, TEST),
    ),
    MutationOperator(
        "returns",
        "return values: None, empty, True or False",
        _returns,
        (VALUE, PREDICATE),
    ),
    MutationOperator("void-call", "drop a call whose value is not used", _void_call),
)
"""All operators. Their order is part of the mutants' order."""

DEFAULT_OPERATORS: Final = tuple(o.name for o in OPERATORS if o.name != "void-call")
"""The default operators of PIT."""


_PREDICATES: Final = frozenset(
    {"isinstance", "issubclass", "hasattr", "callable", "bool", "any", "all"}
)


def is_sequence(node: ast.AST) -> bool:
    """Whether the value is certainly a string, bytes or a container, hence not a number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Mult):
            return is_sequence(node.left) or is_sequence(node.right)
        return isinstance(node.op, ast.Mod) and is_sequence(node.left)
    return isinstance(
        node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple | ast.Dict | ast.Set
    )


def is_boolean(node: ast.expr) -> bool:
    """Whether the value is certainly True or False."""
    if isinstance(node, ast.BoolOp):
        return all(is_boolean(v) for v in node.values)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _PREDICATES
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.Constant) and isinstance(node.value, bool)
    )


def empty_literal(node: ast.expr) -> str | None:
    """The literal of the empty value of the expression's type.

    An empty string if the type is unknown; None if the type has no empty value.
    """
    if isinstance(node, ast.Constant):
        empty = empty_of(node.value)
        return None if empty is None else repr(empty)
    if isinstance(node, ast.Lambda | ast.GeneratorExp):
        return None
    if isinstance(node, ast.Name) and node.id in ("self", "cls"):
        return None
    displays: dict[type[ast.expr], str] = {
        **{ast.JoinedStr: "''", ast.List: "[]", ast.ListComp: "[]", ast.Tuple: "()"},
        **{ast.Dict: "{}", ast.DictComp: "{}", ast.Set: "set()", ast.SetComp: "set()"},
    }
    return displays.get(type(node), "")


def is_empty(node: ast.expr) -> bool:
    """Whether the expression already is the empty value of its type."""
    if isinstance(node, ast.Constant):
        return not node.value
    return (isinstance(node, ast.List | ast.Tuple) and not node.elts) or (
        isinstance(node, ast.Dict) and not node.keys
    )
