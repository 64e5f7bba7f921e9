"""What a feature adds to the state."""

from __future__ import annotations

from typing import ClassVar


class StatePart:
    """A feature's part of the state, changed by the fold of the feature's events.

    A subclass is a dataclass with slots. All its fields have defaults, and annotations of JSON data
    that :func:`fuzztui.base.bounds.all_fit` knows. Each checkpoint contains the whole part, so its
    fold bounds what grows.
    """

    __slots__ = ()
    version: ClassVar[int] = 1
    """Increase when the meaning of the fold changes: older checkpoints are not used."""
