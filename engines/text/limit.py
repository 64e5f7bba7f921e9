"""A limit of CPU time, which other load does not change, for one piece of work."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def limited(
    seconds: float, timer: int, number: int, handler: signal.Handlers | Callable[..., Any]
) -> Iterator[None]:
    """Let ``handler`` handle the signal ``number`` of ``timer`` after the limit.

    The handler and timer are restored afterwards, since the target may use the signal too.
    """
    before = signal.signal(number, handler)
    left = signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, *left)
        if before is not None:  # None: the handler was installed by a C library
            signal.signal(number, before)
