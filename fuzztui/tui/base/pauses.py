"""Garbage collection without long pauses.

A full collection looks at every object, which takes half a second with 100,000 mutants: a key
pressed then would wait. The objects of a campaign live until the end and are in no cycles, so that
they need not be looked at again. Imports, which make many objects, would take a fifth longer with
Python's own thresholds.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LONG_S = 0.02
"""Seconds of a full collection after which the objects that survived are left out of later ones."""

THRESHOLDS = 10_000, 5, 10
"""See :func:`gc.set_threshold`: the youngest 10,000 objects take about a millisecond."""


class ShortPauses:
    """A callback of :data:`gc.callbacks` that exempts survivors once they are many.

    Cycles among exempted objects are never freed. They are few: a dialog that was open then.
    """

    def __init__(
        self,
        exempt: Callable[[], None] = gc.freeze,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._exempt = exempt
        self._clock = clock
        self._started = 0.0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        """Called before (``start``) and after (``stop``) each collection."""
        if phase == "start":
            self._started = self._clock()
        elif info["generation"] == 2 and self._clock() - self._started > LONG_S:
            self._exempt()


@contextmanager
def short_pauses() -> Iterator[None]:
    """Keep collections short until the block ends; then all objects are looked at again."""
    callback, before = ShortPauses(), gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(callback)
        gc.unfreeze()
