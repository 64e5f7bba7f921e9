"""A generator's input of which one knows where each choice begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuzztui.engines.inputs.source import Source
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.strategies.given import Pending

__all__ = ["NotedInput"]


class _Noted(Source):
    """Draws as any source does, notes where, and writes down what a choice came to.

    So two choices are the same where they mean the same, whatever remainders they were drawn as.
    """

    __slots__ = ("starts",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.starts: list[int] = []

    def _advance(self, n: int) -> int:
        self.starts.append(self._pos)  # also of a choice that there is none for
        return Source._advance(self, n)

    def below(self, n: int) -> int:
        """As a plain source's."""
        value = super().below(n)
        at, end = self.starts[-1], self._pos
        self._data[at:end] = value.to_bytes(end - at, "big")
        return value


class NotedInput(TypedInput):
    """What the generator makes of the choices; :attr:`starts` says what these were."""

    on_built: Callable[[], None] | None = None
    """Called when the input is made, if the target is not going to draw more of it."""

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
        """Where in :meth:`used` each choice begins; empty if they were found by their indexes."""
        return self._source.starts if isinstance(self._source, _Noted) else ()
