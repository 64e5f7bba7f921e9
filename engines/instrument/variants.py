"""Run functions of the application with another variant of their code, for one execution.

A variant is a module compiled again with other instrumentation. Its code objects are matched with
those of live functions by name, position, arguments and outer variables; where two of a module are
alike (two equal lambdas in one line), neither is exchanged. So the functions may run any code that
was compiled from the same source: as imported, or by an engine.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType

Key = tuple[str, str, int, tuple[str, ...], tuple[str, ...]]


class Variants:
    """The variants of some modules' code, and the live functions that can run them."""

    def __init__(self) -> None:
        self._codes: dict[Key, CodeType | None] = {}
        self._functions: list[tuple[weakref.ref[FunctionType], Key]] = []

    def add(self, module: CodeType) -> None:
        """Add the functions in the variant of a module's code, or of a part of it."""
        for code in _nested(module):
            key = _key(code)
            self._codes[key] = None if key in self._codes else code

    def find(self, files: Iterable[str]) -> None:
        """Find the live functions whose source is one of ``files``. Can be repeated."""
        known = set(files)
        frozen = gc.get_freeze_count() > 0
        if frozen:
            gc.unfreeze()  # the collector does not list frozen objects
        self._functions = [
            (weakref.ref(o), _key(o.__code__))
            for o in gc.get_objects()
            if type(o) is FunctionType and o.__code__.co_filename in known
        ]
        if frozen:
            gc.freeze()

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Run the variants in the live functions; restore their code afterwards."""
        before: list[tuple[FunctionType, CodeType]] = []
        try:
            for ref, key in self._functions:
                code = self._codes.get(key)
                function = None if code is None else ref()
                if function is not None and code is not None:
                    before.append((function, function.__code__))
                    function.__code__ = code
            yield
        finally:
            for function, code in before:
                function.__code__ = code


def _nested(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _nested(const)


def _key(code: CodeType) -> Key:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    place = code.co_filename, code.co_qualname, code.co_firstlineno
    return *place, code.co_varnames[:count], code.co_freevars
