"""Infection: whether a mutated expression may have had another value than the original.

A *watch* is called with the operands of an expression each time that the program evaluates the
expression. It returns False only if the mutated expression would certainly have had the very same
value (paper, section IV-B2). It decides only for exact ``int``, ``float``, ``str``, ``bytes``,
``bool`` and ``None``: no method of the program's objects is ever called, and no exception is
raised. For some mutations no watch is possible: every evaluation of the expression infects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Watch = Callable[[Any, Any], bool]
"""Called with both operands; the second is None if the expression has only one."""

HAVE_EMPTY: Final = (
    *(bool, int, float, complex, str, bytes, tuple, frozenset),
    *(list, dict, set, bytearray),
)
_MAX_NUMBER: Final = 1 << 64  # products and quotients of numbers up to this size are cheap


def ordering(a: Any, b: Any) -> bool:
    """Whether ``a < b`` and ``a <= b`` may differ (``>`` and ``>=`` likewise): if a equals b.

    Also if the comparison may raise, since the messages of the exceptions differ.
    """
    x, y = type(a), type(b)
    if x is y:
        plain = x is int or x is str or x is float or x is bytes or x is bool
    else:
        plain = (x is int or x is float or x is bool) and (y is int or y is float or y is bool)
    return not plain or a == b


def arithmetic(original: Callable[[Any, Any], Any], mutated: Callable[[Any, Any], Any]) -> Watch:
    """A watch that performs both operations on numbers of moderate size and compares the
    results.
    """

    def watch(a: Any, b: Any) -> bool:
        x, y = type(a), type(b)
        if (
            (x is int or x is float or x is bool)
            and (y is int or y is float or y is bool)
            and -_MAX_NUMBER < a < _MAX_NUMBER
            and -_MAX_NUMBER < b < _MAX_NUMBER
        ):
            try:
                return not _same(original(a, b), mutated(a, b))
            except (ArithmeticError, TypeError, ValueError):
                pass
        return True

    return watch


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers cannot be distinguished. A NaN is equal to no number (it has a sign)."""
    return type(a) is type(b) and a == b and (type(a) is not float or a != 0.0 or str(a) == str(b))


def not_zero(a: Any, _: None) -> bool:
    """Whether ``-a`` may differ from ``a``."""
    return type(a) is not int or a != 0


def not_this(constant: bool | None) -> Watch:
    """A watch: whether a returned value is not ``constant``."""

    def watch(value: Any, _: None) -> bool:
        return value is not constant

    return watch


def not_empty(value: Any, _: None) -> bool:
    """Whether a returned value may differ from the empty value of its type (:func:`empty_of`)."""
    kind = type(value)
    if value is None or value is False:
        return False
    if kind is int or kind is str or kind is bytes or kind is tuple:
        return bool(value)
    return kind is not float or str(value) != "0.0"


def empty_of(value: object) -> object:
    """The empty value of the same type; ``None`` if the type is not known to have one."""
    kind = type(value)
    return kind() if any(kind is known for known in HAVE_EMPTY) else None


def empty_source(prefix: str = "") -> str:
    """:func:`empty_of` as a Python expression. ``prefix``: put before each name of a builtin, for
    modules that have other values for these names.
    """
    kinds = ", ".join(prefix + kind.__name__ for kind in HAVE_EMPTY)
    known = f"{prefix}any({prefix}type(v) is t for t in ({kinds}))"
    return f"lambda v: {prefix}type(v)() if {known} else None"
