"""Infection: may a mutated expression have another value than the original?

A *watch* is given the operands of an expression each time that the program evaluates it, and
says False only if it is certain that the mutated expression would have had the very same
value (paper, section IV-B2). It decides for exact ``int``, ``float``, ``str``, ``bytes``,
``bool`` and ``None`` only: nothing of the program's is ever called, compared or hashed, and
no exception gets out. Where neither is possible a mutant has no watch: whoever evaluates
the expression is infected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["Watch", "arithmetic", "empty_of", "not_empty", "not_this", "not_zero", "ordering"]

Watch = Callable[[Any, Any], bool]
"""Takes both operands; the second is None where there is one only."""

_HAVE_EMPTY: Final = (
    *(bool, int, float, complex, str, bytes, tuple, frozenset),
    *(list, dict, set, bytearray),
)
_LARGEST: Final = 1 << 64  # products and quotients up to here cost nothing worth mentioning


def ordering(a: Any, b: Any) -> bool:
    """``a < b`` against ``a <= b``, and ``>`` likewise: they differ where a equals b.

    Where the comparison raises, the words of the exception differ.
    """
    x, y = type(a), type(b)
    if x is y:
        plain = x is int or x is str or x is float or x is bytes or x is bool
    else:
        plain = (x is int or x is float or x is bool) and (y is int or y is float or y is bool)
    return not plain or a == b


def arithmetic(original: Callable[[Any, Any], Any], mutated: Callable[[Any, Any], Any]) -> Watch:
    """Both operations are carried out on numbers of moderate size and compared."""

    def watch(a: Any, b: Any) -> bool:
        x, y = type(a), type(b)
        if (
            (x is int or x is float or x is bool)
            and (y is int or y is float or y is bool)
            and -_LARGEST < a < _LARGEST
            and -_LARGEST < b < _LARGEST
        ):
            try:
                return not _same(original(a, b), mutated(a, b))
            except (ArithmeticError, TypeError, ValueError):
                pass
        return True

    return watch


def _same(a: Any, b: Any) -> bool:
    """Two numbers that nothing can tell apart. A NaN is like no other (it has a sign)."""
    return type(a) is type(b) and a == b and (type(a) is not float or a != 0.0 or str(a) == str(b))


def not_zero(a: Any, _: None) -> bool:
    """``-a`` against ``a``."""
    return type(a) is not int or a != 0


def not_this(constant: bool | None) -> Watch:
    """A returned value against ``None``, ``True`` or ``False``."""

    def watch(value: Any, _: None) -> bool:
        return value is not constant

    return watch


def not_empty(value: Any, _: None) -> bool:
    """A returned value against the empty one of its type (:func:`empty_of`)."""
    kind = type(value)
    if value is None or value is False:
        return False
    if kind is int or kind is str or kind is bytes or kind is tuple:
        return bool(value)
    return kind is not float or str(value) != "0.0"


def empty_of(value: object) -> object:
    """The empty value of the same type; ``None`` where there is none that is known."""
    kind = type(value)
    return kind() if any(kind is known for known in _HAVE_EMPTY) else None
