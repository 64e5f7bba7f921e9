"""How choices become the target's argument, and how one learns what each choice is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.inputs.typed import Annotated, Typed, TypeStacks
from fuzztui.engines.strategies.given import Pending

__all__ = ["TypedInput"]


class TypedInput(GeneratedInput):
    """A generator's choices; those of a child are found by their execution indexes.

    What is kept of an input is the plain sequence of what was drawn, so files, the journal and
    other engines need to know nothing of all this.
    """

    def __init__(self, *args: Any) -> None:
        """As :class:`GeneratedInput`'s."""
        super().__init__(*args)
        self.stacks = TypeStacks()
        self.on_drawn: Callable[[bytes], None] | None = None
        """Told what was drawn for a child, once its generator is through (the journal)."""
        self._expected: tuple[bytes, Annotated] | None = None

    def expect(self, data: bytes, parent: Annotated) -> None:
        """When exactly this object is built next: its choices lie in it as the parent's do."""
        self._expected = data, parent

    def build(self, data: bytes) -> object:
        """Run the generator."""
        expected, self._expected = self._expected, None
        if expected is None or expected[0] is not data:
            return super().build(data)
        self._source = source = self._typed(data, self._fresh, expected[1])
        try:
            made = self._made(source)
            if isinstance(made, Pending):
                made.on_draw = self._tell
            return made
        finally:
            self._tell()

    def _tell(self) -> None:
        if self.on_drawn is not None and self._source is not None:
            self.on_drawn(self._source.drawn())

    def detach(self) -> None:
        """The journal belongs to another process."""
        super().detach()
        self.on_drawn = None

    def annotate(self, data: bytes, *, whole: bool = True) -> Annotated:
        """What each choice is: runs the generator, so only under the guard.

        Nothing random is drawn for it: choices that are missing are zeros. ``whole``: also a
        test that draws while it runs.
        """
        source = self._typed(data, bytes)
        made = self._made(source)
        if whole and isinstance(made, Pending) and made.more:
            with contextlib.suppress(Exception):
                made.run()  # it draws the rest
        return source.annotated()

    def _made(self, source: Typed) -> object:
        """Always called from here: whence the generator is called is a part of the indexes."""
        return self._generator(source)

    def _typed(
        self, data: bytes, more: Callable[[int], bytes], parent: Annotated | None = None
    ) -> Typed:
        return Typed(data, self._limit, more, self.stacks, magic=self._magic, parent=parent)
