"""The supervisor's tasks: done once, again and again, or by a process beside it.

What goes wrong in one of them is told in the log, and the others go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from fuzztui.process.error_reporter import ErrorReporter
from fuzztui.process.helper import HelperProcess
from fuzztui.wire.events import Event

__all__ = ["AT_LEAST_S", "Tasks"]

AT_LEAST_S: Final = 0.05
"""Between two rounds of a task that can be woken."""

_logger = logging.getLogger(__name__)


class Tasks:
    """Tasks in the running loop, until :meth:`close`."""

    def __init__(self, record: Callable[[Event], object]) -> None:
        self._errors = ErrorReporter("in the supervisor", "see supervisor/stderr", record)
        self._endless: list[asyncio.Future[None]] = []
        self._once: set[asyncio.Future[None]] = set()

    def spawn(self, job: Coroutine[None, None, None]) -> asyncio.Future[None]:
        """Do ``job`` once; :meth:`close` waits for it."""
        task = asyncio.ensure_future(job)
        self._once.add(task)  # the loop itself holds tasks only weakly
        task.add_done_callback(self._once.discard)
        return task

    def repeat(
        self, job: Callable[[], Awaitable[None]], every: float, wake: asyncio.Event | None = None
    ) -> None:
        """Do ``job`` every so many seconds, or sooner when ``wake`` is set, until :meth:`close`."""
        self._endless.append(asyncio.ensure_future(self._again_and_again(job, every, wake)))

    def run_helper(self, helper: HelperProcess) -> None:
        """Have a process beside us until :meth:`close`; the campaign continues without it."""
        self._endless.append(asyncio.ensure_future(self._help(helper)))

    async def close(self) -> None:
        """Give up what has no end, and wait for the rest."""
        for task in self._endless:
            task.cancel()
        await asyncio.gather(*self._endless, *self._once, return_exceptions=True)

    def report_error(self, error: Exception) -> None:
        """Tell of an error that nobody foresaw."""
        if self._errors.report(error):
            _logger.error("unexpected", exc_info=error)

    async def _again_and_again(
        self, job: Callable[[], Awaitable[None]], every: float, wake: asyncio.Event | None
    ) -> None:
        while True:
            try:
                await job()
            except Exception as e:
                self.report_error(e)
            if wake is None:
                await asyncio.sleep(every)
                continue
            await asyncio.sleep(AT_LEAST_S)
            # Not wait_for: on 3.11 it swallows a cancellation that meets the wake-up,
            # and the campaign would never end.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every - AT_LEAST_S):
                    await wake.wait()

    async def _help(self, helper: HelperProcess) -> None:
        try:
            await helper.run()
        except Exception as e:
            self.report_error(e)
