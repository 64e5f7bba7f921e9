"""Bounds of numbers: in fields of events and commands, and in files.

All code that reads numbers which a target, an engine or another program may have written uses them.
A number out of bounds is never clamped. In a record, an event or a command the whole line is
refused (:mod:`fuzztui.wire.codec`); in a file of figures that another program writes, that figure
counts as absent (:func:`whole`, :func:`real`); a JSON file of fuzztui's counts as damaged as a
whole (:func:`loads`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import chain
from math import isnan
from typing import Any, Final

__all__ = [
    "LARGEST",
    "MAX_LEVELS",
    "RANGES",
    "Count",
    "all_fit",
    "is_sound",
    "loads",
    "real",
    "whole",
]

Count = int
"""The annotation of a number of things, bytes or milliseconds: 0 or more; -1 is unknown."""

LARGEST: Final = 2**63 - 1

RANGES: Final[dict[str, tuple[float, float]]] = {
    "int": (-LARGEST - 1, LARGEST),
    "Count": (-1, LARGEST),
    "float": (-1.0, float(LARGEST)),
}
"""The smallest and the largest value by annotation. An ``int`` names or numbers something; a
``float`` is a time in seconds, a rate or a part, and -1 where it is unknown."""

MAX_LEVELS: Final = 32
"""Lists and objects within each other."""

_PLAIN: Final = (str, bool, type(None))
_INT, _FLOAT = RANGES["int"], RANGES["float"]
_LARGEST_SUM: Final = 2**100


def whole(value: Any, otherwise: int = -1) -> int:
    """``value`` if it is an integer from 0 to :data:`LARGEST`, else ``otherwise``."""
    return value if type(value) is int and 0 <= value <= LARGEST else otherwise


def real(value: Any, otherwise: float = -1.0) -> float:
    """``value`` as a float if it is a number from 0 to :data:`LARGEST`, else ``otherwise``."""
    sound = type(value) in (int, float) and 0 <= value <= _FLOAT[1]
    return float(value) + 0.0 if sound else otherwise  # + 0.0: -0.0 is drawn with its sign


def is_sound(value: Any, levels: int = MAX_LEVELS) -> bool:
    """Whether all numbers in JSON data are within bounds, and it is not nested too deeply."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, int):
        return _INT[0] <= value <= _INT[1]
    if isinstance(value, float):
        return -_FLOAT[1] <= value <= _FLOAT[1]  # no NaN either
    values = value.values() if isinstance(value, dict) else value
    # Most are strings: without a call for each it takes half the time.
    return levels > 0 and all(type(v) is str or is_sound(v, levels - 1) for v in values)


def loads(text: str | bytes | bytearray) -> Any:
    """``json.loads``, which also refuses data that is not :func:`is_sound`. Raises ValueError."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not is_sound(data):
        raise ValueError("a number in it is too large, or lists and objects are nested too deeply")
    return data


def all_fit(annotation: str, values: Collection[Any]) -> bool:
    """Whether each of the values, of JSON data, may be in a field with this annotation.

    A whole column is checked at a time: of many rows it takes a tenth of what one check for
    each value does. Numbers may be sums of such as :func:`is_sound` lets pass.
    """
    if not values:
        return True
    outer, _, inner = annotation.partition("[")
    kinds = set(map(type, values))
    if outer in ("int", "Count"):
        return kinds == {int} and max(values) <= _LARGEST_SUM and min(values) >= -_LARGEST_SUM
    if outer == "float":
        if not kinds <= {int, float} or max(values) > _LARGEST_SUM or min(values) < -_LARGEST_SUM:
            return False
        return not any(map(isnan, values))
    if outer in ("str", "bool"):
        return kinds == {str if outer == "str" else bool}
    if annotation == "dict[str, Any]":
        return kinds == {dict} and all(map(is_sound, values))
    if outer == "list":
        return kinds <= {list, tuple} and all_fit(inner[:-1], [*chain.from_iterable(values)])
    if annotation.startswith("dict[str, "):
        items = chain.from_iterable(value.values() for value in values) if kinds == {dict} else ()
        return kinds == {dict} and all_fit(inner[len("str, ") : -1], [*items])
    raise TypeError(f"no JSON data is {annotation}")
