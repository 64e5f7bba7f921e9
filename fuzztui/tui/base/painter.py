"""What a widget needs of its application, as an interface.

Widgets stay usable in any application that offers this: the tests and benchmarks have small ones
of their own.
"""

from __future__ import annotations

from typing import Protocol, cast

from textual.dom import DOMNode

from fuzztui.tui.base.palette import Palette


class Painter(Protocol):
    """All that a widget needs."""

    @property
    def palette(self) -> Palette:
        """The colours of the theme."""

    def perform(self, action_id: str) -> None:
        """Do an action of the registry, or show why not."""


def painter(node: DOMNode) -> Painter:
    """The application of ``node``."""
    return cast(Painter, node.app)
