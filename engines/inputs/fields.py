"""Which field of a class a generator draws for: ``shop.Order.title`` in ``Order(title=r.text())``.

The place of a draw is an instruction, whose line and columns lie in an argument of a call. If the
call's callee is a class, the argument's value becomes the field of the parameter's name. So texts
and numbers, whose types distinguish nothing, are told apart by the fields that they are made for.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from functools import cache
from itertools import islice, takewhile
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

_Argument = tuple[int, int, int, int, str, str | int]
"""First line and column, last line and column (negative, so that outer expressions are less), the
callee's name with dots, and the name of the keyword or the position."""

_Known = tuple[tuple[str, ...], bool, CodeType]
"""Of an instruction: its fields, whether its callers do not count, and its code, which is kept so
that no other code gets the address."""

_ENDS: Final = ("fuzztui.", "hypothesis.")
"""Packages in whose code no field is made, and whose functions announce the fields of callers."""
_CALLERS: Final = ("fuzztui.engines.generators.scope.", "fuzztui.engines.inputs.typed.")
"""Modules that call functions with ``@generator``."""
_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Code whose text lies in that of its caller; so its place has the caller's fields, too."""


class Fields:
    """The fields that frames draw for, by instruction; each one is looked up once."""

    def __init__(self) -> None:
        self.plain = {0}
        """Instructions that draw for no field, whatever calls them; 0: a choice in a row."""
        self._known: dict[int, _Known] = {}

    def of(self, frame: FrameType | None) -> tuple[str, ...]:
        """The fields for which a frame draws, the outermost first.

        Its callers count up to the call of a ``@generator``, which has announced its own fields.
        """
        found: tuple[str, ...] = ()
        while frame is not None:
            number = id(frame.f_code) + frame.f_lasti
            fields, is_outermost, _ = self._known.get(number) or self._look_up(frame, number)
            if fields:
                found = fields + found
            if is_outermost:
                break
            frame = frame.f_back
        return found

    def _look_up(self, frame: FrameType, number: int) -> _Known:
        is_end = _module(frame).startswith(_ENDS)
        fields = () if is_end else tuple(_fields(frame))
        caller = frame
        while caller.f_code.co_name in _COMPREHENSIONS and caller.f_back is not None:
            caller = caller.f_back
        is_outermost = is_end or _module(caller.f_back) in _CALLERS
        if is_outermost and not fields:
            self.plain.add(number)
        self._known[number] = found = fields, is_outermost, frame.f_code
        return found


def _module(frame: FrameType | None) -> str:
    return f"{frame.f_globals.get('__name__')}." if frame is not None else ""


def _fields(frame: FrameType) -> Iterator[str]:
    """Yield the fields of the arguments that contain a frame's instruction, outer ones first."""
    at = frame.f_lasti // 2
    ((line, last, column, end),) = islice(frame.f_code.co_positions(), at, at + 1)
    if line is None or last is None or column is None or end is None:
        return  # the interpreter runs without columns (-X no_debug_ranges)
    for *start, last_line, last_column, callee, parameter in _arguments(frame.f_code.co_filename):
        if start <= [line, column] and (last_line, last_column) <= (-last, -end):
            first, *others = callee.split(".")
            cls = frame.f_globals.get(first)
            for name in others:
                cls = vars(cls).get(name) if isinstance(cls, type | ModuleType) else None
            ordered = positional(cls) if isinstance(parameter, int) else []
            name = parameter if isinstance(parameter, str) else "".join(ordered[parameter:][:1])
            if name and isinstance(cls, type) and cls.__module__ != "builtins":
                yield f"{cls.__module__}.{cls.__qualname__}.{name}"


def positional(cls: Any) -> list[str]:
    """The parameters of a class that may be given by position; [] if they are not known."""
    try:
        parameters = inspect.signature(cls).parameters.values()
    except Exception:  # no class, a class in C, or one with an odd metaclass
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@cache
def _arguments(file: str) -> list[_Argument]:
    """The arguments of all calls in a file's functions, sorted; [] if there is no such source."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        functions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        found = dict.fromkeys(a for node in functions for a in _given(node))  # in a fixed order
        return sorted(found, key=lambda a: a[:4])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _given(function: ast.AST) -> Iterator[_Argument]:
    """Yield the arguments of all calls in a function.

    The value of an argument that is a variable is what the function assigns to the variable.
    """
    assigned: dict[str, list[ast.expr]] = {}
    calls: list[ast.Call] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            calls.append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (t.id for t in targets if isinstance(t, ast.Name)):
                assigned.setdefault(name, []).append(node.value)
    for call in calls:
        callee = ast.unparse(call.func)
        given: dict[str | int, ast.expr] = {k.arg: k.value for k in call.keywords if k.arg}
        given.update(enumerate(takewhile(lambda a: not isinstance(a, ast.Starred), call.args)))
        for parameter, value in given.items():
            others = assigned.get(value.id, []) if isinstance(value, ast.Name) else []
            for at in [value, *others]:
                last = -(at.end_lineno or 0), -(at.end_col_offset or 0)
                yield at.lineno, at.col_offset, *last, callee, parameter
