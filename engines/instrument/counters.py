"""The counters of compiled code: shared objects that clang instrumented with SanitizerCoverage.

The compiled code calls the functions of ``sancov.c``, so this library is loaded first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Final

_IS_ENTRY: Final = 1
"""The flag of an address at the beginning of a function."""

_LOADED: Final[list[ctypes.PyDLL]] = []


def trace_crashes(fd: int) -> None:
    """Have the place of a crash in an object with counters written to ``fd``.

    Call this after faulthandler, which writes Python's stack then, was enabled.
    """
    for library in _LOADED:
        library.ft_trace(fd)


class SharedObject(ctypes.Structure):
    """A shared object that has counters: ``object`` in ``sancov.c``."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("begin", ctypes.c_size_t),
        ("counters", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("addresses", ctypes.POINTER(ctypes.c_size_t)),  # each with its flags
    )

    def places(self) -> list[tuple[str, str]]:
        """For each counter its address in the object, else its number; and what it counts."""
        if not self.addresses:
            return [(f"#{n}", "edge") for n in range(self.size)]
        words = self.addresses[: 2 * self.size]
        return [
            (f"+{at - self.begin:#x}", "function" if flags & _IS_ENTRY else "edge")
            for at, flags in zip(words[::2], words[1::2], strict=True)
        ]


class CounterLibrary:
    """``sancov.c`` in a shared library."""

    def __init__(self, path: str) -> None:
        """Load the library. Raises OSError."""
        self._library = ctypes.PyDLL(path, mode=ctypes.RTLD_GLOBAL)
        _LOADED.append(self._library)
        self.read = self._library.ft_read
        words = ctypes.c_void_p
        self.read.argtypes = (words, ctypes.c_size_t, words, words, ctypes.c_int)

    def objects(self) -> list[SharedObject]:
        """The loaded objects that have counters."""
        count = ctypes.c_size_t.in_dll(self._library, "ft_count").value
        return list((SharedObject * count).in_dll(self._library, "ft_objects"))


class Counters:
    """The counters of one object as cells of the coverage map."""

    def __init__(
        self, read: Callable[..., int], of: SharedObject, base: int, *, counting: bool
    ) -> None:
        """``read``: :attr:`CounterLibrary.read`. ``base``: the first cell of the object."""
        size = of.size
        self._cells = slice(base, base + size)
        self._array = memoryview((ctypes.c_ubyte * size).from_address(of.counters)).cast("B")
        self._zero = bytes(size)
        self._known, self._hit = bytearray(size), bytearray(size)
        # These arrays keep the buffers where they are.
        self._pins = [(ctypes.c_ubyte * size).from_buffer(b) for b in (self._known, self._hit)]
        self._read = partial(read, of.counters, size, *map(ctypes.addressof, self._pins), counting)

    def clear(self) -> None:
        """Set all counters to 0."""
        self._array[:] = self._zero

    def leave_out(self, covered: int) -> None:
        """Leave these cells (as of :meth:`CoverageMap.collect`) out from now on."""
        data = covered.to_bytes(max(self._cells.stop, covered.bit_length() + 7 >> 3), "little")
        self._known[:] = data[self._cells]

    def collect(self, cells: bytearray) -> None:
        """Put the counters into the map."""
        if self._read():
            cells[self._cells] = self._hit
