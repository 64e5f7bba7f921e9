"""Runs blocking work in threads that cannot block the exit.

Textual's thread workers use the loop's executor, whose threads the interpreter joins at exit: a
hanging read (dead network file system) would freeze ``q``. Daemon threads do not.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a new daemon thread. Returns its result, or raises its exception.

    Cancelling stops the waiting, not the work, whose result is then dropped.
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
        with suppress(RuntimeError):  # the loop is closed, so that no task waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="fuzztui-work", daemon=True).start()
    return await future
