"""The input of a generator, with the offset at which each choice begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuzztui.engines.inputs.source import Source
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.strategies.given import Pending


class _Noted(Source):
    """A source that records where each choice begins, and normalises the bytes of each choice.

    Choices with the same value get the same bytes, although values are drawn as remainders.
    """

    __slots__ = ("starts",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.starts: list[int] = []

    def _advance(self, n: int) -> int:
        self.starts.append(self._pos)  # also if the input has no bytes left for this choice
        return Source._advance(self, n)

    def below(self, n: int) -> int:
        """Draw an integer below ``n``, and store it in place of the drawn bytes."""
        value = super().below(n)
        at, end = self.starts[-1], self._pos
        self._data[at:end] = value.to_bytes(end - at, "big")
        return value


class NotedInput(TypedInput):
    """The input that a generator makes; :attr:`starts` has the offsets of the choices."""

    on_built: Callable[[], None] | None = None
    """Called when the input is complete; not called if the target may draw more while it runs."""

    def build(self, data: bytes) -> object:
        """Run the generator."""
        made = super().build(data)
        if self.on_built is not None and not (isinstance(made, Pending) and made.more):
            self.on_built()
        return made

    def _plain(self, data: bytes) -> Source:
        return _Noted(data, self._limit, self._more, self._magic)

    @property
    def starts(self) -> Sequence[int]:
        """Offset in :meth:`used` of each choice; empty if choices were found by execution index."""
        return self._source.starts if isinstance(self._source, _Noted) else ()
