"""Input forms: how the bytes that are mutated become the argument of the target."""

from __future__ import annotations

import copy
from collections.abc import Callable

from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Source


class InputForm:
    """How an input's bytes become the target's argument. In this form it gets the bytes."""

    choices = False
    """Whether the bytes are choices of a generator; else they are the input itself."""

    def build(self, data: bytes) -> object:
        """Make the argument. May run user code, so must be called under the guard."""
        return data

    def used(self, data: bytes) -> bytes:
        """The bytes that make the argument of the last :meth:`build`, of ``data``, again."""
        return data

    def detach(self) -> None:
        """Stop reporting drawn bytes: the journal belongs to another process."""


class TextInput(InputForm):
    """The target takes text: UTF-8, in which invalid bytes become U+FFFD."""

    def build(self, data: bytes) -> object:
        """A ``str``."""
        return data.decode("utf-8", "replace")


class GeneratedInput(InputForm):
    """The target takes the input that a generator makes from the bytes, its choices."""

    choices = True

    def __init__(
        self,
        generator: Callable[[Source], object],
        limit: int,
        fresh: Callable[[int], bytes],
        on_fresh: Callable[[bytes], None] | None = None,
        magic: ConstantPool | None = None,
    ) -> None:
        """``fresh(n)`` returns n random bytes; ``on_fresh`` is called with them, for the journal.

        ``limit``: maximum bytes of choices. ``magic``: constants that choices may select.
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

    def with_generator(self, generator: Callable[[Source], object]) -> GeneratedInput:
        """A copy of this form with another generator."""
        made = copy.copy(self)
        made._generator, made._source = generator, None
        return made

    def detach(self) -> None:
        """Stop reporting drawn bytes."""
        self._on_fresh = None

    def used(self, data: bytes) -> bytes:
        """The choices that the generator drew."""
        return data if self._source is None else self._source.drawn()
