"""What a harness may use of fuzztui: saying when two values of its function are the same.

The ``mu2`` engine kills a mutant when it returns something else than the program does.
Where plain structure is not the measure, the harness says what is::

    from fuzztui.harness import compare

    def same_tree(a, b):
        return a.render() == b.render()

    @compare(same_tree)
    def target(data: bytes):
        return parse(data)

Standard library only: this runs under the interpreter of the project under test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["COMPARED_WITH", "check_compare", "compare"]

COMPARED_WITH: Final = "__fuzztui_compare__"
"""The attribute that the decorator leaves at the function."""

_F = TypeVar("_F", bound=Callable[..., Any])


def compare(same: Callable[[Any, Any], object]) -> Callable[[_F], _F]:
    """Decorate a target function: its values are the same when ``same(a, b)`` is true.

    ``a`` is what the program returned, ``b`` what a mutant of it did. It is called for
    every pair: keep it fast, and let it change nothing. An exception in it does not kill.
    ``[target] compare`` in the campaign file wins over this. Raises TypeError for what
    cannot be called so, or for a function that cannot be marked.
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
    """Raise TypeError, with words that follow a name, unless it takes two values."""
    if not callable(same):
        raise TypeError(f"must be a function of two values, not a {type(same).__name__}")
    if inspect.iscoroutinefunction(same):
        raise TypeError("must be a plain function, not a coroutine function")
    try:
        inspect.signature(same).bind(None, None)
    except TypeError as e:
        words = "must be callable with two values, the program's and the mutant's"
        raise TypeError(f"{words}: {e}") from None
    except ValueError:
        pass  # a builtin without a signature
