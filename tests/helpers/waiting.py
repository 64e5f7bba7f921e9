"""Waiting for a state: how tests wait for processes, threads and files.

A test never waits for a time, and never asserts that something took more or less than one: a
machine may be ten times as busy as this one.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_S = max(240.0, float(os.environ.get("FUZZTUI_TEST_DEADLINE_S") or 0))
"""Seconds after which a state counts as never reached, the same in all tests.

The environment variable raises it for a very busy machine, and pytest's ``timeout`` must be longer.
"""

_PAUSES_S = (0.0005, 0.05)
"""Seconds between two looks: at first, and at most. Each pause is twice as long as the last."""


def wait_until(true: Callable[[], T], seen: Callable[[], object] = lambda: "") -> T:
    """Return the first value of ``true()`` that is true.

    ``seen`` describes, for the error, what is there instead.
    """
    end, pause = time.monotonic() + DEADLINE_S, _PAUSES_S[0]
    while not (found := true()):
        if time.monotonic() > end:
            raise AssertionError(_never(true, seen))
        time.sleep(pause)
        pause = min(2 * pause, _PAUSES_S[1])
    return found


async def until(true: Callable[[], T | Awaitable[T]], seen: Callable[[], object] = lambda: "") -> T:
    """:func:`wait_until` for coroutines; ``true`` may return an awaitable."""
    end, pause = time.monotonic() + DEADLINE_S, _PAUSES_S[0]
    while True:
        found = true()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found  # type: ignore[return-value]
        if time.monotonic() > end:
            raise AssertionError(_never(true, seen))
        await asyncio.sleep(pause)
        pause = min(2 * pause, _PAUSES_S[1])


async def turns_of_the_loop(count: int = 20) -> None:
    """Let other tasks of the loop run, so often: what they can do without waiting is done then."""
    for _ in range(count):
        await asyncio.sleep(0)


def _never(true: Callable[[], object], seen: Callable[[], object]) -> str:
    code = getattr(true, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(true)
    return f"not within {DEADLINE_S:g} s: {where}; there is {seen()}"
