"""Functions of packages, whose errors must not end what calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def guarded(function: Callable[..., T], otherwise: Callable[..., T]) -> Callable[..., T]:
    """Return a function that calls ``function`` and never raises its errors.

    If ``function`` raises, the result is that of ``otherwise(error, *arguments)``.
    """

    def call(*args: Any) -> T:
        try:
            return function(*args)
        except Exception as e:
            return otherwise(e, *args)

    return call
