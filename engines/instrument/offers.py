"""The targets and generators in a module, for the message about a name that does not exist."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from fuzztui.engines.strategies import test_of


def targets_in(module: ModuleType) -> Iterator[str]:
    """Names of functions of the module, and of Hypothesis tests in it, also in classes."""
    for name, value in _public(module):
        if not _is_class(value):
            if callable(value) and _is_own(module, name, value):
                yield name
        elif _is_own(module, name, value):
            if test_of(value):
                yield name
            for method, function in _public(value):
                if type(function) is staticmethod or _is_test(function):
                    yield f"{name}.{method}"


def generators_in(module: ModuleType) -> Iterator[str]:
    """Names of functions, strategies, and types from which strategies can be made."""
    for name, value in _public(module):
        if _is_class(value):
            if _is_own(module, name, value) and not _is_other(value):
                yield name
        elif _is_strategy(value) or (
            callable(value) and _is_own(module, name, value) and not _is_test(value)
        ):
            yield name


def _public(owner: object) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(owner).items() if not name.startswith("_")]


def _is_own(module: ModuleType, name: str, value: object) -> bool:
    """Whether the value is defined in the module or below it, or named in its ``__all__``."""
    offered = getattr(module, "__all__", ())
    if isinstance(offered, (list, tuple)) and name in offered:
        return True
    defined: object = ""
    with contextlib.suppress(AttributeError):
        defined = object.__getattribute__(value, "__module__")  # runs no code of a proxy
    below = f"{module.__name__}." if hasattr(module, "__path__") else None
    return defined == module.__name__ or (
        below is not None and isinstance(defined, str) and defined.startswith(below)
    )


def _is_test(value: object) -> bool:
    """Whether this is a test function; a proxy or a mock could pretend to be anything."""
    return type(value) is FunctionType and test_of(value) is not None


def _is_other(cls: type) -> bool:
    """Whether the class is not for inputs: tests, a state machine, an exception."""
    if issubclass(cls, BaseException) or test_of(cls):
        return True
    return any(map(_is_test, vars(cls).values()))


def _is_strategy(value: object) -> bool:
    hypothesis: Any = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and issubclass(type(value), hypothesis.SearchStrategy)


def _is_class(value: object) -> bool:
    """Whether this is a class; isinstance would run the ``__class__`` property of lazy proxies."""
    return issubclass(type(value), type)
