"""Record the operands of the comparisons that one execution makes, without changing them.

What CmpLog and RedQueen do for native programs (Aschermann et al., NDSS 2019), for Python. The
code of a function is exchanged for a variant in which each operand of a comparison passes through
a call that returns the operand itself. So the interpreter still compares, calls ``__eq__``, ends a
chain early or raises exactly as before. The call is a constant of the code object in place of a
marker, as a probe is, and needs no name in the module.

Recorded are ``== != < <= > >= in not in``, the cases of ``match``, subscripts and ``get`` of
dicts, and methods of texts and patterns such as ``startswith``, ``find``, ``split`` and
``fullmatch``; of ``len(x)`` in a comparison, ``x`` too.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from fuzztui.engines.inputs.operands import Kind, Operands, Scalar
from fuzztui.engines.instrument.markers import marker, placed

_COMPARED: Final = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_METHODS: Final[dict[str, Kind]] = {
    "startswith": "prefix",
    "endswith": "suffix",
    "removeprefix": "prefix",
    "removesuffix": "suffix",
    **dict.fromkeys(
        ("find", "rfind", "index", "rindex", "partition", "rpartition", "split", "rsplit", "count"),
        "inside",
    ),
    **dict.fromkeys(("get", "pop", "setdefault"), "key"),
    **dict.fromkeys(("match", "fullmatch", "search", "findall", "finditer"), "pattern"),
}

_PER_SITE: Final = 64
"""Different pairs after which nothing more is recorded at a site in one execution."""
_SUBJECTS: Final = 4
"""Different subjects of a ``match`` that are recorded with all cases."""
_MAX_PAIRS: Final = 2048
"""Pairs that are recorded in one execution."""
_MAX_VISITS: Final = 256
"""Comparisons at one site in one execution that are looked at."""
_LONGEST: Final = 256
"""Characters of an operand; of a longer one, nothing is recorded."""
_BITS: Final = 160
"""Size of an integer; of a larger one, nothing is recorded."""
_MEMBERS: Final = 64
"""Values of a container that are recorded for one comparison."""
_LOOKED_AT: Final = 4096
"""Values of a container that are looked at."""


@dataclass(frozen=True, slots=True)
class Site:
    """The place of a comparison in the program."""

    kind: Kind
    module: str
    line: int
    constants: tuple[Scalar, ...] = ()
    """The literals of the cases, for ``match``."""


class OperandLog:
    """Collects operands between :meth:`begin` and :meth:`take`.

    ``hooks``: the functions that replace the markers in the program's code, by name.
    """

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.pairs: dict[Operands, None] = {}
        """The recorded pairs, in order."""
        self._visits: dict[int, int] = {}
        self._recorded: dict[int, int] = {}
        self._waiting: list[tuple[int, object]] = []
        self._turn = 0
        self._on = False
        self.hooks: dict[str, Callable[..., object]] = {
            "left": self._left,
            "right": self._right,
            "middle": self._middle,
            "subject": self._subject,
        }

    def begin(self) -> None:
        """Record from now on."""
        self._clear()
        self._turn += 1
        self._on = True

    def _clear(self) -> None:
        self.pairs = {}
        self._visits = {}
        self._recorded = {}
        self._waiting = []

    def take(self) -> list[Operands]:
        """Stop recording. Returns the pairs, in order; drops all references to the program's
        objects.
        """
        self._on = False
        pairs = list(self.pairs)
        self._clear()
        return pairs

    # ------------------------------------------------- called by the program's code

    def _left(self, operand: object, site: int) -> object:
        if not self._on:  # code that the program has kept
            return operand
        visits = self._visits.get(site, 0)
        self._visits[site] = visits + 1
        if visits < _MAX_VISITS:
            self._waiting.append((site, operand))
        return operand

    def _right(self, operand: object, site: int) -> object:
        try:
            if self._waiting:
                self._compare(site, operand)
        except Exception:
            pass
        return operand

    def _middle(self, operand: object, before: int, after: int) -> object:
        self._right(operand, before)
        return self._left(operand, after)

    def _subject(self, operand: object, site: int) -> object:
        if not self._on:
            return operand
        visits = self._visits.get(site, 0)
        self._visits[site] = visits + 1
        constants = self.sites[site].constants
        if visits < _MAX_VISITS and self._recorded.get(site, 0) < max(
            _PER_SITE, _SUBJECTS * len(constants)
        ):
            for constant in constants:
                self._record(operand, constant, "equal", site)
        return operand

    # ---------------------------------------------------------------- recording

    def _compare(self, site: int, right: object) -> None:
        """Record the operand that waits for this one. Operands above it were left behind by
        comparisons that ended early.
        """
        waiting = self._waiting
        at = len(waiting) - 1
        while at >= 0 and waiting[at][0] != site:
            at -= 1
        if at < 0:
            return
        left = waiting[at][1]
        del waiting[at:]
        kind = self.sites[site].kind
        if self._recorded.get(site, 0) >= _PER_SITE:
            return
        if kind == "length":
            if type(right) is int and type(left) is not int:
                self._record(left, right, kind, site)
            elif type(left) is int and type(right) is not int:
                self._record(right, left, kind, site)
        elif kind == "member":
            self._look_up(left, right, site)
        elif kind == "key":
            if issubclass(type(left), dict):
                self._members(right, left, site)
        elif kind in ("prefix", "suffix"):
            self._affixes(left, right, kind, site)
        elif kind == "inside":
            if type(left) is type(right):
                self._record(left, right, kind, site)
        elif kind == "pattern":
            if type(left) is str or type(left) is bytes or type(left) is re.Pattern:
                for literal in literals_of(left):
                    self._record(right, literal, kind, site)
        else:
            self._record(left, right, kind, site)

    def _look_up(self, left: object, right: object, site: int) -> None:
        """``left in right``, where ``right`` is a container or a text."""
        kind = type(right)
        if kind is not str and kind is not bytes:
            self._members(left, right, site)
        elif type(left) is kind:
            text: Any = right
            self._record(text, left, "inside", site)
            if len(text[:_LONGEST]) <= _MEMBERS:
                for at in range(len(text)):
                    self._record(left, text[at : at + 1], "member", site)

    def _members(self, value: object, container: object, site: int) -> None:
        if type(value) not in (str, bytes, int):
            return
        for member in self._some(container):
            if type(member) is type(value):
                self._record(value, member, "member", site)

    def _some(self, container: Any) -> Sequence[object]:
        """Some values of a container of a builtin type: of a large one, others in each execution.

        No values of other containers, whose methods may be the program's code.
        """
        kind = type(container)
        if issubclass(kind, dict):
            values = list(islice(dict.keys(container), _LOOKED_AT))
        elif kind in (tuple, list, set, frozenset):
            values = list(islice(container, _LOOKED_AT))
        else:
            return ()
        if kind in (set, frozenset):  # their order may be another one in each process
            values = sorted((v for v in values if type(v) in (str, bytes, int)), key=repr)
        step = (len(values) - 1) // _MEMBERS + 1
        return values[self._turn % step :: step] if step > 1 else values

    def _affixes(self, text: object, affixes: object, kind: Kind, site: int) -> None:
        if type(text) is not str and type(text) is not bytes:
            return
        for affix in affixes if type(affixes) is tuple else (affixes,):
            if type(affix) is type(text) and affix:
                size = len(affix)
                own = text[:size] if kind == "prefix" else text[-size:]
                self._record(own, affix, kind, site)

    def _record(self, left: object, right: object, kind: Kind, site: int) -> None:
        value, wanted = scalar(left), scalar(right)
        if value is None or wanted is None or value == wanted:
            return
        if type(value) is not type(wanted) and kind != "length":
            return
        pair = Operands(value, wanted, kind, site)
        if pair not in self.pairs and len(self.pairs) < _MAX_PAIRS:
            self.pairs[pair] = None
            self._recorded[site] = self._recorded.get(site, 0) + 1


def scalar(operand: object) -> Scalar | None:
    """The operand as a plain ``str``, ``bytes`` or ``int``, without calling the program's code.

    None if it is of another type (also ``bool``), too long, or too large.
    """
    kind = type(operand)
    if kind is int:
        return operand if operand.bit_length() <= _BITS else None  # type: ignore[attr-defined,return-value]
    if issubclass(kind, str):
        return str.__str__(operand) if str.__len__(operand) <= _LONGEST else None  # type: ignore[arg-type]
    if issubclass(kind, bytes):
        if bytes.__len__(operand) > _LONGEST:  # type: ignore[arg-type]
            return None
        return bytes.__getitem__(operand, slice(None))  # type: ignore[call-overload,no-any-return]
    return None


_MAX_PATTERNS: Final = 512


@lru_cache(_MAX_PATTERNS)
def literals_of(pattern: re.Pattern[Any] | str | bytes) -> tuple[str | bytes, ...]:
    """The literal texts of a regular expression, the longest first, at most 16."""
    source, flags = (
        (pattern, 0) if isinstance(pattern, str | bytes) else (pattern.pattern, pattern.flags)
    )
    try:
        with warnings.catch_warnings(action="ignore"):
            parsed = re._parser.parse(source, flags)  # type: ignore[attr-defined]
    except Exception:  # a private module: without it, patterns have no literals
        return ()
    texts: dict[str, None] = {}
    _collect(parsed, texts)
    some = sorted(texts, key=len, reverse=True)[:16]
    if isinstance(source, bytes):
        return tuple(text.encode("latin-1", "ignore") for text in some)
    return tuple(some)


def _collect(parsed: Any, texts: dict[str, None]) -> None:
    run = ""
    for op, argument in [*parsed, (None, None)]:
        name = str(op)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if run:
            texts.setdefault(run)
            run = ""
        if name == "SUBPATTERN":
            _collect(argument[-1], texts)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _collect(argument[2], texts)
        elif name == "BRANCH":
            for branch in argument[1]:
                _collect(branch, texts)
        elif name in ("ASSERT", "ASSERT_NOT"):
            _collect(argument[1], texts)
        elif name == "IN":
            for inner, char in argument:
                if str(inner) == "LITERAL":
                    texts.setdefault(chr(char))


class OperandHooks(ast.NodeTransformer):
    """Put the calls of an :class:`OperandLog` around the operands in a module's tree, in place."""

    def __init__(self, module: str, sites: list[Site]) -> None:
        """``sites``: the list that new sites are appended to."""
        self._module, self._sites = module, sites

    def _site(self, kind: Kind, at: ast.AST, constants: tuple[Scalar, ...] = ()) -> ast.Constant:
        self._sites.append(Site(kind, self._module, getattr(at, "lineno", 0), constants))
        return ast.Constant(len(self._sites) - 1)

    def _hook(self, name: str, operand: ast.expr, *sites: ast.expr) -> ast.expr:
        return placed(ast.Call(marker(name), [operand, *sites], []), operand)

    # ----------------------------------------------- code that is not evaluated in its place

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """Leave annotations unchanged: programs may read them."""
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_TypeVar(self, node: ast.AST) -> ast.AST:
        """Leave the bound of a type parameter unchanged."""
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Leave the annotation unchanged."""
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Visit the value only."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_TypeAlias(self, node: ast.AST) -> ast.AST:
        """Leave ``type X = ...`` unchanged."""
        return node

    # --------------------------------------------------------------- comparisons

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Hook the operands of each operator, also in a chain."""
        if isinstance(node.left, ast.Name) and not node.left.id.isidentifier():
            return node  # the counter of a loop's fuel
        before: ast.Constant | None = None
        operands = [node.left, *node.comparators]
        lengths = [_len_argument(operand) for operand in operands]
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        for at, op in enumerate(node.ops):
            site: ast.Constant | None = None
            first, second = operands[at], operands[at + 1]
            if isinstance(op, _COMPARED) and not (_constant(first) and _constant(second)):
                if len(node.ops) == 1 and (lengths[0] or lengths[1]):
                    site = self._site("length", node)
                    operands[0] = self._length("left", first, site, lengths[0])
                    operands[1] = self._length("right", second, site, not lengths[0])
                    break
                member = isinstance(op, ast.In | ast.NotIn)
                equal = isinstance(op, ast.Eq | ast.NotEq)
                site = self._site("member" if member else "equal" if equal else "order", node)
            operands[at] = self._operand(first, before, site)
            before = site
        else:
            operands[-1] = self._operand(operands[-1], before, None)
        node.left, node.comparators = operands[0], operands[1:]
        return node

    def _length(self, hook: str, operand: ast.expr, site: ast.expr, is_length: bool) -> ast.expr:
        """Hook an operand; of ``len(x)``, hook x."""
        if is_length and isinstance(operand, ast.Call):
            operand.args[0] = self._hook(hook, operand.args[0], site)
            return operand
        return self._hook(hook, operand, site)

    def _operand(
        self, operand: ast.expr, before: ast.Constant | None, after: ast.Constant | None
    ) -> ast.expr:
        if before is not None and after is not None:
            return self._hook("middle", operand, before, after)
        if before is not None:
            return self._hook("right", operand, before)
        return operand if after is None else self._hook("left", operand, after)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Hook the receiver and the first argument of methods that compare."""
        self.generic_visit(node)
        method, args = node.func, node.args
        if not isinstance(method, ast.Attribute) or not args:
            return node
        kind = _METHODS.get(method.attr)
        if kind is None or any(isinstance(a, ast.Starred) for a in args):
            return node
        if isinstance(method.value, ast.Name) and method.value.id == "re":
            if kind == "pattern" and len(args) > 1:
                site = self._site(kind, node)
                args[:2] = [self._hook("left", args[0], site), self._hook("right", args[1], site)]
            return node
        site = self._site(kind, node)
        method.value = self._hook("left", method.value, site)
        args[0] = self._hook("right", args[0], site)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Hook a dict and its key, when it is read by a key that is computed."""
        self.generic_visit(node)
        computed = isinstance(node.slice, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        if isinstance(node.ctx, ast.Load) and computed:
            site = self._site("key", node)
            node.value = self._hook("left", node.value, site)
            node.slice = self._hook("right", node.slice, site)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Hook the subject, with the literals of all cases."""
        constants = tuple(dict.fromkeys(_literals_in(node)))
        for case in node.cases:
            if case.guard is not None:
                case.guard = self.visit(case.guard)
            case.body = [self.visit(s) for s in case.body]
        node.subject = self.visit(node.subject)
        if constants:
            site = self._site("equal", node.subject, constants)
            node.subject = self._hook("subject", node.subject, site)
        return node


def _constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _len_argument(node: ast.expr) -> bool:
    """Whether this is a call ``len(x)``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
        and not isinstance(node.args[0], ast.Starred)
    )


def _literals_in(node: ast.Match) -> Iterable[Scalar]:
    for case in node.cases:
        for part in ast.walk(case.pattern):
            if isinstance(part, ast.MatchValue) and isinstance(part.value, ast.Constant):
                value = scalar(part.value.value)
                if value is not None:
                    yield value
