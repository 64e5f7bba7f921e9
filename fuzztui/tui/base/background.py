"""Blocking work off the event loop, without being able to block the exit.

Textual's thread workers run on the loop's executor, whose threads the interpreter
joins at exit: a read that hangs (a dead network file system) would freeze ``q``.
Daemon threads do not.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a daemon thread of its own; its result, or its exception.

    Cancelling stops the waiting, not the work: its result is then dropped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as e:
            # StopIteration cannot be raised into a future.
            error = (
                e
                if isinstance(e, Exception) and not isinstance(e, StopIteration)
                else RuntimeError(repr(e))
            )
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="fuzztui-work", daemon=True).start()
    return await future
