"""The constant pool: strings, bytes and integers of the application that draws may use.

From the SpotOn paper, III-B "Creating Constant String Lookup Table"; here also bytes and integers.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.kernel.base.files import read_regular

_RESTORE: Final = (
    "; the choices of all queue entries refer to its constants: restore it from a copy, or start a"
    " new run"
)
_MAX_BYTES: Final = 1 << 28
"""Bytes of a file with constants."""
_MAX_CACHED: Final = 1024
"""Cached results for texts: a generator that draws its bounds makes many different requests."""


class ConstantPool:
    """The constants. A pool must not change while choices that were drawn with it are in use,
    because the constant that a choice selects depends on all constants of the pool.
    """

    def __init__(
        self,
        texts: Iterable[str] = (),
        blocks: Iterable[bytes] = (),
        integers: Iterable[int] = (),
    ) -> None:
        self._texts = sorted(set(texts))
        self._integers = sorted(set(integers))
        self._blocks: dict[int, list[bytes]] = {}
        for block in sorted(set(blocks), key=lambda block: (len(block), block)):
            self._blocks.setdefault(len(block), []).append(block)
        self._fitting: dict[tuple[Container[str], int, int], list[str]] = {}

    @classmethod
    def read(cls, file: Path) -> ConstantPool:
        """Read the part ``constants`` of ``constants.json``, whose digest is checked, or of the
        ``targets.json`` of older runs. Raises :class:`CannotStart`.
        """
        try:
            raw = read_regular(file, _MAX_BYTES + 1)
            if len(raw) > _MAX_BYTES:
                raise ValueError(f"the file is larger than {_MAX_BYTES >> 20} MiB")
            document = json.loads(raw)
            constants = document.get("constants", {})
            if "targets" not in document and document["digest"] != digest_of(constants):
                raise ValueError("they are not those that the run began with")
            return cls(
                [_a(str, row["value"]) for row in constants.get("str", ())],
                [bytes.fromhex(row["hex"]) for row in constants.get("bytes", ())],
                [_a(int, row["value"]) for row in constants.get("int", ())],
            )
        except OSError as e:
            raise CannotStart(f"{file}: {e.strerror or e}{_RESTORE}") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
            raise CannotStart(f"{file}: constants: {type(e).__name__}: {e}{_RESTORE}") from None

    def texts(self, alphabet: Container[str], low: int, high: int) -> list[str]:
        """Texts of ``low`` to ``high`` characters, all of them in the alphabet.

        The alphabet is a text, or a hashable set that does not change.
        """
        if isinstance(alphabet, list | tuple):
            return []  # perhaps of longer strings: allowed, but without constants
        key = (alphabet, low, high)
        found = self._fitting.get(key)
        if found is None:
            if len(self._fitting) >= _MAX_CACHED:
                self._fitting.clear()
            allowed = frozenset(alphabet) if isinstance(alphabet, str) else alphabet
            found = self._fitting[key] = [
                text
                for text in self._texts
                if low <= len(text) <= high and all(c in allowed for c in text)
            ]
        return found

    def blocks(self, low: int, high: int) -> list[bytes]:
        """Blocks of ``low`` to ``high`` bytes."""
        if low == high:
            return self._blocks.get(low, [])
        return [block for n, same in self._blocks.items() if low <= n <= high for block in same]

    def integers(self, low: int, high: int) -> list[int]:
        """Integers from ``low`` to ``high``, both included."""
        there = self._integers
        return there[bisect_left(there, low) : bisect_right(there, high)]


def digest_of(constants: Any) -> str:
    """A digest of the ``constants`` of a file, which JSON can represent."""
    return hashlib.sha256(json.dumps(constants, sort_keys=True).encode()).hexdigest()


def _a(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} is not of type {kind.__name__}")
    return value
