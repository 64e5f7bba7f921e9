"""What a module has that a campaign could name: what to say where a name is not there."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from fuzztui.engines.strategies import test_of

__all__ = ["generators_in", "targets_in"]


def targets_in(module: ModuleType) -> Iterator[str]:
    """Functions of its own, and Hypothesis' tests: ``test_it``, ``TestIt.test_that``, machines."""
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
    """Functions of its own, strategies, and types of its own, of which strategies may be made."""
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
    """Defined there or, of a package, below it; or what it says that it offers."""
    offered = getattr(module, "__all__", ())
    if isinstance(offered, (list, tuple)) and name in offered:
        return True
    defined: object = ""
    with contextlib.suppress(AttributeError):
        defined = object.__getattribute__(value, "__module__")  # runs nothing of a proxy's
    below = f"{module.__name__}." if hasattr(module, "__path__") else None
    return defined == module.__name__ or (
        below is not None and isinstance(defined, str) and defined.startswith(below)
    )


def _is_test(value: object) -> bool:
    """Only functions are asked: a proxy, or a mock, may answer anything."""
    return type(value) is FunctionType and test_of(value) is not None


def _is_other(cls: type) -> bool:
    """A class of tests, a machine, an exception: nobody's input."""
    if issubclass(cls, BaseException) or test_of(cls):
        return True
    return any(map(_is_test, vars(cls).values()))


def _is_strategy(value: object) -> bool:
    hypothesis: Any = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and issubclass(type(value), hypothesis.SearchStrategy)


def _is_class(value: object) -> bool:
    """Without asking it: isinstance runs what lazy proxies do to be something else."""
    return issubclass(type(value), type)
