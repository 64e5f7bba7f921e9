"""Bounds of numbers in events, commands and files.

All code that reads numbers from a target, an engine or another program uses these bounds. A number
out of bounds is never clamped. In a record, an event or a command it makes the whole line invalid
(:mod:`fuzztui.kernel.wire.codec`). In a statistics file of another program that number counts as
absent (:func:`whole`, :func:`real`). In a JSON file of fuzztui it makes the file damaged
(:func:`loads`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import chain
from math import isnan
from typing import Any, Final

Count = int
"""Annotation of a number of things, bytes or milliseconds: 0 or more; -1: unknown."""

LARGEST: Final = 2**63 - 1

RANGES: Final[dict[str, tuple[float, float]]] = {
    "int": (-LARGEST - 1, LARGEST),
    "Count": (-1, LARGEST),
    "float": (-1.0, float(LARGEST)),
}
"""The smallest and the largest value by annotation. An ``int`` is an id or an index; a ``float``
is a time in seconds, a rate or a share; -1: unknown."""

MAX_LEVELS: Final = 32
"""Nesting depth of lists and objects."""

_PLAIN: Final = (str, bool, type(None))
_INT, _FLOAT = RANGES["int"], RANGES["float"]
_LARGEST_SUM: Final = 2**100


def whole(value: Any, otherwise: int = -1) -> int:
    """``value`` if it is an integer from 0 to :data:`LARGEST`, else ``otherwise``."""
    return value if type(value) is int and 0 <= value <= LARGEST else otherwise


def real(value: Any, otherwise: float = -1.0) -> float:
    """``value`` as a float if it is a number from 0 to :data:`LARGEST`, else ``otherwise``."""
    sound = type(value) in (int, float) and 0 <= value <= _FLOAT[1]
    return float(value) + 0.0 if sound else otherwise  # + 0.0: -0.0 would be shown with its sign


def is_sound(value: Any, levels: int = MAX_LEVELS) -> bool:
    """Whether all numbers in JSON data are within bounds, and the data is not nested too deeply."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, int):
        return _INT[0] <= value <= _INT[1]
    if isinstance(value, float):
        return -_FLOAT[1] <= value <= _FLOAT[1]  # no NaN either
    values = value.values() if isinstance(value, dict) else value
    # Most values are strings: without a call for each of them this takes half the time.
    return levels > 0 and all(type(v) is str or is_sound(v, levels - 1) for v in values)


def loads(text: str | bytes | bytearray) -> Any:
    """``json.loads``, which also refuses data that is not :func:`is_sound`. Raises ValueError."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not is_sound(data):
        raise ValueError("a number is too large, or lists and objects are nested too deeply")
    return data


def load_object(text: str | bytes | bytearray) -> dict[str, Any] | None:
    """The JSON object in ``text``; None if it is none that :func:`loads` accepts."""
    try:
        data = loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def all_fit(annotation: str, values: Collection[Any]) -> bool:
    """Whether each of the values, from JSON data, fits into a field with this annotation.

    Checks a whole column at once: for many rows this takes a tenth of the time of one check per
    value. Numbers can be sums of numbers that :func:`is_sound` accepts.
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
    raise TypeError(f"{annotation}: not an annotation of JSON data")
