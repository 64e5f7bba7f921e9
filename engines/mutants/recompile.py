"""Compile the function inside a unit that has a mutation, and patch it into the unit's code.

A unit can be large: a function of thousands of lines that defines classes. Compiled whole for each
mutant, it would take longer than any run. So only the innermost function with the mutation is
compiled, and patched into the unit's code: code objects contain the code of inner functions as
constants, so the constant is replaced, in the function and in all around it. The function is
compiled inside empty copies (shells) of the scopes around it; the outermost shell binds the names
that the function takes from outside. If the result does not fit exactly, the unit is compiled.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from fuzztui.engines.instrument.markers import placed
from fuzztui.engines.instrument.segments import shelled
from fuzztui.engines.instrument.units import flatten
from fuzztui.engines.mutants.sites import Shell


class Slots:
    """For each node of a tree, the field that contains it, so that the node can be replaced."""

    __slots__ = ("_slots",)

    def __init__(self, root: ast.AST) -> None:
        self._slots: dict[int, tuple[Any, str, int]] = {}
        todo = [root]
        while todo:
            parent = todo.pop()
            for name in parent._fields:
                value = getattr(parent, name, None)
                if isinstance(value, ast.AST):
                    self._slots[id(value)] = parent, name, -1
                    todo.append(value)
                elif isinstance(value, list):
                    for i, item in enumerate(value):
                        if isinstance(item, ast.AST):
                            self._slots[id(item)] = parent, name, i
                            todo.append(item)

    def parent(self, node: ast.AST) -> tuple[ast.AST, str] | None:
        """The node's parent and the name of the field; None for the root."""
        parent, name, _ = self._slots.get(id(node), (None, "", -1))
        return None if parent is None else (parent, name)

    def now(self, old: ast.AST) -> Any:
        """The node that is now in the field of ``old``, which may have been replaced."""
        parent, name, index = self._slots[id(old)]
        value = getattr(parent, name)
        return value if index < 0 else value[index]

    def put(self, old: ast.AST, new: ast.AST) -> None:
        """Put ``new`` into the field of ``old``, even if ``old`` was replaced already."""
        parent, name, index = self._slots[id(old)]
        if index < 0:
            setattr(parent, name, new)
        else:
            getattr(parent, name)[index] = new


Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_CLASS_CELLS: Final = frozenset({"__class__", "__classdict__"})
"""Free variables that the shell of a class binds."""


@dataclass(frozen=True, slots=True)
class Nested:
    """A function inside a unit, ready to be compiled alone."""

    module: ast.Module
    """The function inside shells. It shares its body with the unit's tree."""
    around: tuple[tuple[int, int], ...]
    """For the unit and each scope between: index in the result of :func:`flatten`, and index of the
    next one among its constants."""
    at: int
    """Index of the function's own code."""

    def patch(self, base: list[CodeType], codes: list[CodeType]) -> dict[int, CodeType] | None:
        """The unit's codes that change, by index; None if the function does not fit.

        ``base``: the unit's codes without mutation. ``codes``: those of :attr:`module`.
        """
        old, new = base[self.at], codes[0]
        for _ in self.around:
            (new,) = (c for c in new.co_consts if isinstance(c, CodeType))
        if new.co_freevars != old.co_freevars or new.co_qualname != old.co_qualname:
            return None
        inner = flatten(new)
        if [c.co_name for c in inner] != [c.co_name for c in flatten(old)]:
            return None
        changed = dict(enumerate(inner, self.at))
        for index, const in reversed(self.around):
            consts = list(base[index].co_consts)
            consts[const] = new
            changed[index] = new = base[index].replace(co_consts=tuple(consts))
        return changed


def functions_around(slots: Slots, node: ast.AST, shells: tuple[Shell, ...]) -> list[Scope]:
    """The scopes from the unit to the innermost function with ``node`` in its body."""
    scopes = _scopes(slots, node)[len(shells) :]
    while scopes and isinstance(scopes[-1], ast.ClassDef):
        scopes.pop()
    return scopes


def nested_in(
    scopes: list[Scope], shells: tuple[Shell, ...], base: list[CodeType]
) -> Nested | None:
    """The last of ``scopes``, ready to be compiled alone; None if its code cannot be identified.

    ``scopes``: as from :func:`functions_around`. ``base``: the unit's codes without mutation.
    """
    if any(getattr(scope, "type_params", None) for scope in scopes):
        return None
    around: list[tuple[int, int]] = []
    at = 0
    for scope in scopes[1:]:
        outer = base[at]
        found = [i for i, c in enumerate(outer.co_consts) if _is_code_of(c, scope)]
        if len(found) != 1:
            return None
        around.append((at, found[0]))
        (at,) = (i for i, c in enumerate(base) if c is outer.co_consts[found[0]])
    names = sorted(set(base[at].co_freevars) - _CLASS_CELLS)
    inner: Any = _bare(scopes[-1])
    for scope in reversed(scopes[1:-1]):
        inner = _shell(scope, [inner])
    bind = [placed(_binding(name), scopes[0]) for name in names]
    root = _shell(scopes[0], [*bind, inner])
    return Nested(shelled(root, shells), tuple(around), at)


def _scopes(slots: Slots, node: ast.AST) -> list[Scope]:
    """The functions and classes whose bodies contain the node, outermost first."""
    found = [
        parent
        for parent, name in _ancestors(slots, node)
        if name == "body" and isinstance(parent, Scope)
    ]
    return found[::-1]


def _ancestors(slots: Slots, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    while (above := slots.parent(node)) is not None:
        yield above
        node = above[0]


def _is_code_of(code: object, scope: Scope) -> bool:
    lines = [scope.lineno, *(d.lineno for d in scope.decorator_list)]
    return (
        isinstance(code, CodeType)
        and code.co_name == scope.name
        and code.co_firstlineno == min(lines)
    )


def _bare(scope: Scope) -> Scope:
    """A copy without what is evaluated outside the function; the body is shared."""
    new: Any = copy.copy(scope)
    new.args = args = copy.copy(new.args)
    args.defaults, args.kw_defaults = [], [None] * len(args.kwonlyargs)
    for kind in ("posonlyargs", "args", "kwonlyargs"):
        setattr(args, kind, [_unannotated(a) for a in getattr(args, kind)])
    for kind in ("vararg", "kwarg"):
        arg = getattr(args, kind)
        setattr(args, kind, arg and _unannotated(arg))
    new.returns = None
    if scope.decorator_list:
        first = min(scope.decorator_list, key=lambda d: d.lineno)
        new.decorator_list = [placed(ast.Constant(None), first)]
    return new  # type: ignore[no-any-return]


def _unannotated(arg: ast.arg) -> ast.arg:
    return placed(ast.arg(arg.arg), arg)


def _shell(scope: Scope, body: list[ast.stmt]) -> Any:
    """An empty scope with the same name and kind around ``body``."""
    if isinstance(scope, ast.ClassDef):
        new: Any = ast.ClassDef(scope.name, bases=[], keywords=[], body=body, decorator_list=[])
    else:
        none = ast.arguments([], [], None, [], [], None, [])
        new = ast.FunctionDef(scope.name, none, body, [])
    new.type_params = []
    return placed(new, scope)


def _binding(name: str) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))
