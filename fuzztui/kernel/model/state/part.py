"""What a feature adds to the state."""

from __future__ import annotations


class StatePart:
    """A feature's part of the state, changed by the fold of the feature's events.

    A subclass is a dataclass with slots, all of whose fields have defaults: numbers, texts, truth
    values, and lists and dicts by text of them. Each checkpoint contains the whole part, so its
    fold bounds what grows.
    """

    __slots__ = ()
