"""From the bytes that are mutated to the argument that the target is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Source

__all__ = ["BytesInput", "GeneratedInput", "InputForm", "TextInput"]


class InputForm(Protocol):
    """How an input's bytes become the target's argument."""

    choices: bool
    """Are the bytes a generator's choices (mutated as such), or the input itself?"""

    def build(self, data: bytes) -> object:
        """The argument; may run the user's code, so only under the guard."""

    def used(self, data: bytes) -> bytes:
        """After :meth:`build` of ``data``: the bytes that make this argument again."""

    def detach(self) -> None:
        """From now on nobody is told of bytes that were drawn."""


class BytesInput:
    """The bytes themselves."""

    choices = False

    def build(self, data: bytes) -> object:
        """The same bytes."""
        return data

    def used(self, data: bytes) -> bytes:
        """All of them."""
        return data

    def detach(self) -> None:
        """Nobody is."""


class TextInput:
    """UTF-8; what is not becomes U+FFFD, so every input is a text."""

    choices = False

    def build(self, data: bytes) -> object:
        """A ``str``."""
        return data.decode("utf-8", "replace")

    def used(self, data: bytes) -> bytes:
        """All of them."""
        return data

    def detach(self) -> None:
        """Nobody is."""


class GeneratedInput:
    """What the user's generator makes of the choices."""

    choices = True

    def __init__(
        self,
        generator: Callable[[Source], object],
        limit: int,
        fresh: Callable[[int], bytes],
        on_fresh: Callable[[bytes], None] | None = None,
        magic: ConstantPool | None = None,
    ) -> None:
        """``fresh(n)`` returns n random bytes; ``on_fresh`` is told of them (the journal).

        ``magic``: constants that the choices may mean.
        """
        self._generator = generator
        self._limit = limit
        self._fresh = fresh
        self._on_fresh = on_fresh
        self._magic = magic
        self._source: Source | None = None

    def _more(self, n: int) -> bytes:
        data = self._fresh(n)
        if self._on_fresh is not None:
            self._on_fresh(data)
        return data

    def build(self, data: bytes) -> object:
        """Run the generator."""
        self._source = source = self._plain(data)
        return self._generator(source)

    def _plain(self, data: bytes) -> Source:
        return Source(data, self._limit, self._more, self._magic)

    def detach(self) -> None:
        """The journal belongs to another process."""
        self._on_fresh = None

    def used(self, data: bytes) -> bytes:
        """The choices that the generator drew."""
        return data if self._source is None else self._source.drawn()
