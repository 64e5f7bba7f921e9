"""Functions for harnesses: declare when two values of a target function are the same.

The ``mu2`` engine kills a mutant if it returns another value than the original. If values cannot be
compared by their structure, the harness defines the comparison::

    from fuzztui.harness import compare

    def same_tree(a, b):
        return a.render() == b.render()

    @compare(same_tree)
    def target(data: bytes):
        return parse(data)

This module uses the standard library only: it runs under the interpreter of the target.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["COMPARED_WITH", "check_compare", "compare", "takes_one"]

COMPARED_WITH: Final = "__fuzztui_compare__"
"""The attribute in which the decorator stores the comparison."""

_F = TypeVar("_F", bound=Callable[..., Any])


def compare(same: Callable[[Any, Any], object]) -> Callable[[_F], _F]:
    """Decorate a target function: its values are the same when ``same(a, b)`` is true.

    ``a`` is the value of the original, ``b`` the value of a mutant. ``same`` is called for every
    pair of values: it should be fast and must not change anything. If it raises an exception, the
    mutant is not killed. ``[target] compare`` in the campaign file has precedence. Raises TypeError
    if ``same`` cannot be called with two values, or if the function cannot be decorated.
    """
    try:
        check_compare(same)
    except TypeError as e:
        raise TypeError(f"@compare(same): same {e}") from None

    def decorate(function: _F) -> _F:
        try:
            setattr(function, COMPARED_WITH, same)
        except AttributeError:
            raise TypeError(
                f"@compare: a {type(function).__name__} cannot be decorated; wrap it in a function"
            ) from None
        return function

    return decorate


def check_compare(same: object) -> None:
    """Raise TypeError unless ``same`` takes two values. The message is to follow a name."""
    if not callable(same):
        raise TypeError(f"must be a function of two values, not a {type(same).__name__}")
    if inspect.iscoroutinefunction(same):
        raise TypeError("must be a plain function, not a coroutine function")
    try:
        inspect.signature(same).bind(None, None)
    except TypeError as e:
        problem = "must be callable with two values, the original's and the mutant's"
        raise TypeError(f"{problem}: {e}") from None
    except ValueError:
        pass  # a builtin without a signature


def takes_one(function: Any) -> bool:
    """Whether a plain function, or a class, requires one argument, and no more."""
    if inspect.iscoroutinefunction(function):
        return False
    any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return isinstance(function, type)  # as str and bytes, which Python does not describe
    needed = [p for p in parameters if p.default is p.empty and p.kind not in any_number]
    return len(needed) == 1 and needed[0].kind is not inspect.Parameter.KEYWORD_ONLY
