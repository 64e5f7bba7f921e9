"""Make the target's argument from choices, and annotate each choice with its types and index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.inputs.typed import Annotated, Indexed, Typed, TypeStacks
from fuzztui.engines.strategies.given import Pending


class TypedInput(GeneratedInput):
    """Inputs that are a generator's choices; a child's choices are found by execution index.

    The stored input is the plain sequence of drawn bytes, so files, the journal and other engines
    do not depend on execution indexes.
    """

    def __init__(self, *args: Any) -> None:
        """The arguments are those of :class:`GeneratedInput`."""
        super().__init__(*args)
        self.stacks = TypeStacks()
        self.on_drawn: Callable[[bytes], None] | None = None
        """Called with the bytes drawn for a child when its generator has ended (the journal)."""
        self._expected: tuple[bytes, Annotated] | None = None

    def expect(self, data: bytes, parent: Annotated) -> None:
        """Announce a child: if :meth:`build` is called next with this very object ``data``, the
        choices in it have the same offsets as those of ``parent``.
        """
        self._expected = data, parent

    def build(self, data: bytes) -> object:
        """Run the generator on ``data``."""
        expected, self._expected = self._expected, None
        if expected is None or expected[0] is not data:
            return super().build(data)
        self._source = source = Indexed(data, expected[1], self._limit, self._fresh, self._magic)
        try:
            made = self._made(source)
            if isinstance(made, Pending):
                made.on_draw = self._report_drawn
            return made
        finally:
            self._report_drawn()

    def _report_drawn(self) -> None:
        if self.on_drawn is not None and self._source is not None:
            self.on_drawn(self._source.drawn())

    def detach(self) -> None:
        """Stop writing to the journal, which belongs to another process."""
        super().detach()
        self.on_drawn = None

    def annotate(self, data: bytes, *, whole: bool = True) -> Annotated:
        """Run the generator and return what each choice is. Must be called under the guard.

        Missing choices are zeros, not random. ``whole``: also run a test that draws while running.
        """
        source = Typed(data, self._limit, bytes, self.stacks, magic=self._magic)
        made = self._made(source)
        if whole and isinstance(made, Pending) and made.more:
            with contextlib.suppress(Exception):
                made.run()  # the test draws the remaining choices
        return source.annotated()

    def _made(self, source: Typed) -> object:
        # The only call of the generator: its call site is a part of the execution indexes.
        return self._generator(source)
