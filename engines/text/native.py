"""The text operators of a compiled mutate.c; or those in Python, where there is none.

Both make the same bytes from the same input and generator.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final, Protocol

from fuzztui.engines.text.reference import Plain, Rng
from fuzztui.engines.text.table import NAMES

__all__ = ["MutatorLibrary", "Native", "UnfitError", "load"]


class MutatorLibrary(Protocol):
    """What mutates: see plain.py for what each of them does."""

    @property
    def name(self) -> str:
        """``native`` or ``plain``."""

    @property
    def why(self) -> str:
        """Why the compiled ones are not used though they were asked for; "" if they are."""

    def apply(self, data: bytes, limit: int, rng: Rng, op: int) -> bytes | None:
        """One operator at a random occurrence; None if it does not apply."""

    def weights(
        self, applied: Sequence[int], found: Sequence[int], base: Sequence[int], prior: int
    ) -> list[int]:
        """The bandit's weights of mutators, from the wished weights and recent results."""


class UnfitError(Exception):
    """A library that is not what this version of fuzztui compiles."""


class _Rng(ctypes.Structure):
    _fields_ = (("state", ctypes.c_uint64),)


class _Buffer(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("n", ctypes.c_size_t), ("room", ctypes.c_size_t))


_MOST: Final = ctypes.c_size_t(-1).value


class Native:
    """mutate.c in a shared library. For one thread: all calls use one buffer.

    It is called with the interpreter's lock held: giving that up and taking it again would cost
    a tenth of a call, which takes microseconds.
    """

    name: Final = "native"
    why: Final = ""

    def __init__(self, path: str) -> None:
        """Load it. Raises OSError, or UnfitError where it is another version's."""
        self.library = ctypes.PyDLL(path)
        _check(self.library)
        self._rng, self._buffer = _Rng(), _Buffer()
        self._references = ctypes.byref(self._rng), ctypes.byref(self._buffer)
        words = ctypes.c_void_p
        self._apply = self.library.ft_apply_to
        self._apply.argtypes = (words, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t,
                                words, ctypes.c_int)  # fmt: skip
        self._weights = self.library.ft_weights
        self._weights.argtypes = (words, words, words, ctypes.c_uint64, ctypes.c_int, words)
        self._weights.restype = None

    def apply(self, data: bytes, limit: int, rng: Rng, op: int) -> bytes | None:
        """One operator at a random occurrence; None if it does not apply."""
        rng_at, buffer_at = self._references
        state, buffer = self._rng, self._buffer
        state.state = rng.state
        most = min(max(limit, 0), _MOST)  # ctypes would cut off the upper bits
        applies = self._apply(buffer_at, data, len(data), most, rng_at, op)
        rng.state = state.state
        return ctypes.string_at(buffer.at, buffer.n) if applies else None

    def weights(
        self, applied: Sequence[int], found: Sequence[int], base: Sequence[int], prior: int
    ) -> list[int]:
        """The bandit's weights of mutators, from the wished weights and recent results."""
        if not len(applied) == len(found) == len(base):
            raise ValueError(f"{len(applied)} arms applied, {len(found)} found, {len(base)} wished")
        made = _array([0] * len(applied))
        arrays = _array(applied), _array(found), _array(base)
        self._weights(*arrays, prior, len(applied), made)
        return list(made)


def _array(numbers: Sequence[int]) -> Any:
    return (ctypes.c_uint64 * len(numbers))(*numbers)


def _check(library: ctypes.CDLL) -> None:
    """Raises UnfitError unless it has the operators of our table, in its order."""
    try:
        count = library.ft_operators()
        names = (ctypes.c_char_p * count).in_dll(library, "ft_names")
        library.ft_apply_to, library.ft_weights  # noqa: B018
    except (AttributeError, ValueError) as e:
        raise UnfitError(f"it is no library of text operators: {e}") from None
    if [name.decode() for name in names] != list(NAMES):
        raise UnfitError("it was compiled from another version's table of operators")


def load(path: str) -> MutatorLibrary:
    """The compiled operators of that library, or, where there is none, those in Python.

    ``path`` "" asks for those in Python. If it cannot be loaded their ``why`` says so.
    """
    if not path:
        return Plain()
    try:
        return Native(path)
    except (OSError, UnfitError) as e:
        return Plain(f"{path}: {e}")
