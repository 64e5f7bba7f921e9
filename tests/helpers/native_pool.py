"""pool.c in a shared library, to be compared with :class:`~fuzztui.engines.text.fragments.Pool`."""

from __future__ import annotations

import ctypes
from typing import Any, Final

from fuzztui.engines.text.reference import Rng

_SEGMENTS: Final = 32
_MOST: Final = ctypes.c_size_t(-1).value


class _Rng(ctypes.Structure):
    _fields_ = (("state", ctypes.c_uint64),)


class _Buffer(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("n", ctypes.c_size_t), ("room", ctypes.c_size_t))


class _Segment(ctypes.Structure):
    _fields_ = (("start", ctypes.c_size_t), ("n", ctypes.c_size_t), ("at", ctypes.c_size_t))


class _Host(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_char_p),
        ("n", ctypes.c_size_t),
        ("entry", ctypes.c_void_p),
        ("was", ctypes.c_size_t),
        ("segments", ctypes.c_int),
        ("segment", _Segment * _SEGMENTS),
    )


class NativeHost:
    """An input that is being mutated (``ft_host``): good until its pool is refreshed."""

    __slots__ = ("_pool", "data", "host")

    def __init__(self, pool: NativePool, data: bytes) -> None:
        self._pool = pool
        self.data = data  # which the host points into
        self.host = _Host()

    def reset(self) -> None:
        """What is mutated is the input again."""
        self._pool.library.ft_host_reset(ctypes.byref(self.host))

    def follow(self, now: bytes) -> None:
        """After a step: what is still as it was, and where?"""
        self._pool.library.ft_host_follow(ctypes.byref(self.host), self._pool.holding(now))


class NativePool:
    """``ft_pool_*`` on the pool file ``path``, with the library that :mod:`native` loads."""

    def __init__(self, library: ctypes.PyDLL, path: str) -> None:
        """Raises AttributeError for a library without pool.c, MemoryError."""
        self.library = library
        words, size = ctypes.c_void_p, ctypes.c_size_t
        for name, result, *arguments in (
            ("ft_pool_open", words, ctypes.c_char_p),
            ("ft_pool_close", None, words),
            ("ft_pool_refresh", ctypes.c_int, words),
            ("ft_pool_trouble", ctypes.c_char_p, words),
            ("ft_pool_find", ctypes.c_int, words, ctypes.c_char_p, size, words),
            ("ft_host_reset", None, words),
            ("ft_host_follow", None, words, words),
            ("ft_pool_splice", ctypes.c_int, words, words, words, size, words),
            ("ft_pool_template", ctypes.c_int, words, words, words, size, words),
            ("ft_balanced", ctypes.c_int, words, size, words, ctypes.c_char_p, size),
            ("ft_set", ctypes.c_int, words, ctypes.c_char_p, size),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self._rng, self._buffer = _Rng(), _Buffer()
        self._references = ctypes.byref(self._rng), ctypes.byref(self._buffer)
        self._pool = library.ft_pool_open(path.encode())
        if not self._pool:
            raise MemoryError

    def close(self) -> None:
        """Free it. Nothing may be asked of it any more."""
        self.library.ft_pool_close(self._pool)
        self._pool = None

    @property
    def trouble(self) -> str:
        """Why the newest file was refused."""
        return str(self.library.ft_pool_trouble(self._pool).decode())

    def refresh(self) -> bool:
        """Look for a newer file, at most once a second. True: hosts are to be found again."""
        return bool(self.library.ft_pool_refresh(self._pool))

    def find(self, data: bytes) -> NativeHost | None:
        """What is known of an input; None for nothing (:meth:`balanced` needs nothing)."""
        host = NativeHost(self, data)
        known = self.library.ft_pool_find(self._pool, data, len(data), ctypes.byref(host.host))
        return host if known else None

    def splice(self, host: NativeHost, now: bytes, limit: int, rng: Rng) -> bytes | None:
        """A span gives way to a fragment of its kind; None if nothing can be done."""
        return self._step(self.library.ft_pool_splice, host, now, limit, rng)

    def template(self, host: NativeHost, now: bytes, limit: int, rng: Rng) -> bytes | None:
        """One of the edits that the templates make here; None if nothing can be done."""
        return self._step(self.library.ft_pool_template, host, now, limit, rng)

    def balanced(self, now: bytes, limit: int, rng: Rng, other: bytes) -> bytes | None:
        """What stands between two delimiters gives way to what does in ``other``."""
        buffer, state = self.holding(now), self._rng
        state.state = rng.state
        most, size = min(limit, _MOST), len(other)
        done = self.library.ft_balanced(buffer, most, self._references[0], other, size)
        rng.state = state.state
        return ctypes.string_at(self._buffer.at, self._buffer.n) if done else None

    def holding(self, data: bytes) -> Any:
        """A reference to the buffer, which holds ``data``. Raises MemoryError."""
        if not self.library.ft_set(self._references[1], data, len(data)):
            raise MemoryError
        return self._references[1]

    def _step(
        self, step: Any, host: NativeHost, now: bytes, limit: int, rng: Rng
    ) -> bytes | None:  # fmt: skip
        buffer, state = self.holding(now), self._rng
        state.state = rng.state
        most = min(limit, _MOST)
        done = step(self._pool, ctypes.byref(host.host), buffer, most, self._references[0])
        rng.state = state.state
        return ctypes.string_at(self._buffer.at, self._buffer.n) if done else None
