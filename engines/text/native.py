"""The text mutators of the compiled mutate.c, or the reference mutators in Python.

Both make the same bytes from the same input and generator state.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.engines.text import reference
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.table import NAMES

Apply = Callable[[bytes, int, Rng, int], bytes | None]
"""Applies one mutator at a random occurrence; None if it does not apply: ``reference.apply``."""
Weigh = Callable[[Sequence[int], Sequence[int], Sequence[int], Sequence[int], int], list[int]]
"""Computes the bandit's weights of mutators: ``reference.weights``."""


@dataclass(frozen=True, slots=True)
class MutatorLibrary:
    """The text mutators and the bandit."""

    apply: Apply = reference.apply
    weights: Weigh = reference.weights
    compiled: bool = False
    why: str = ""
    """Why the compiled mutators cannot be used; an empty string if there is no problem."""


class UnfitError(Exception):
    """A library that this version of fuzztui has not compiled."""


class _Rng(ctypes.Structure):
    _fields_ = (("state", ctypes.c_uint64),)


class _Buffer(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("n", ctypes.c_size_t), ("room", ctypes.c_size_t))


_MOST: Final = ctypes.c_size_t(-1).value


class Native:
    """mutate.c in a shared library. For one thread only: all calls use one buffer.

    The interpreter's lock is held during calls: releasing it would add a tenth to the cost of a
    call, which takes microseconds.
    """

    def __init__(self, path: str) -> None:
        """Load the library. Raises OSError, or UnfitError if it is of another version."""
        self.library = ctypes.PyDLL(path)
        _check(self.library)
        self._rng, self._buffer = _Rng(), _Buffer()
        self._references = ctypes.byref(self._rng), ctypes.byref(self._buffer)
        words = ctypes.c_void_p
        self._apply = self.library.ft_apply_to
        self._apply.argtypes = (words, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t,
                                words, ctypes.c_int)  # fmt: skip
        self._weights = self.library.ft_weights
        self._weights.argtypes = (*4 * (words,), ctypes.c_uint64, ctypes.c_int, words)
        self._weights.restype = None

    def apply(self, data: bytes, limit: int, rng: Rng, op: int) -> bytes | None:
        """Apply one mutator at a random occurrence; None if it does not apply."""
        rng_at, buffer_at = self._references
        state, buffer = self._rng, self._buffer
        state.state = rng.state
        most = min(max(limit, 0), _MOST)  # ctypes would truncate larger numbers
        applies = self._apply(buffer_at, data, len(data), most, rng_at, op)
        rng.state = state.state
        return ctypes.string_at(buffer.at, buffer.n) if applies else None

    def weights(
        self,
        applied: Sequence[int],
        found: Sequence[int],
        base: Sequence[int],
        floors: Sequence[int],
        prior: int,
    ) -> list[int]:
        """The bandit's weights of mutators, from the wished weights and recent results."""
        rows = applied, found, base, floors
        if len(set(map(len, rows))) > 1:
            sizes = ", ".join(str(len(row)) for row in rows)
            raise ValueError(f"applied, found, base and floors have different lengths: {sizes}")
        made = _array([0] * len(applied))
        self._weights(*map(_array, rows), prior, len(applied), made)
        return list(made)


def _array(numbers: Sequence[int]) -> Any:
    return (ctypes.c_uint64 * len(numbers))(*numbers)


def _check(library: ctypes.CDLL) -> None:
    """Raises UnfitError unless the library has the mutators of our table, in the same order."""
    try:
        count = library.ft_mutators()
        names = (ctypes.c_char_p * count).in_dll(library, "ft_names")
        library.ft_apply_to, library.ft_weights  # noqa: B018
    except (AttributeError, ValueError) as e:
        raise UnfitError(f"not a library of text mutators: {e}") from None
    if [name.decode() for name in names] != list(NAMES):
        raise UnfitError("compiled from another version's table of mutators")


def load(path: str) -> MutatorLibrary:
    """The compiled mutators of a library; those in Python if ``path`` is an empty string.

    If the library cannot be loaded, also those in Python, with the reason in ``why``.
    """
    if not path:
        return MutatorLibrary()
    try:
        native = Native(path)
    except (OSError, UnfitError) as e:
        return MutatorLibrary(why=f"{path}: {e}")
    return MutatorLibrary(native.apply, native.weights, compiled=True)
