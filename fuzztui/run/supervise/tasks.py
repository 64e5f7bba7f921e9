"""The supervisor's tasks: run once, or repeatedly.

An unexpected error in a task is recorded in the log, and the other tasks continue.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from fuzztui.kernel.wire.events import Event
from fuzztui.run.process.error_reporter import ErrorReporter

AT_LEAST_S: Final = 0.05
"""Minimum seconds between two rounds of a task that can be woken."""

_logger = logging.getLogger(__name__)


class Tasks:
    """Tasks in the running loop, until :meth:`close`."""

    def __init__(self, record: Callable[[Event], object]) -> None:
        self._errors = ErrorReporter("in the supervisor", "see supervisor/stderr", record)
        self._endless: list[asyncio.Future[None]] = []
        self._once: set[asyncio.Future[None]] = set()

    def spawn(self, job: Coroutine[None, None, None]) -> asyncio.Future[None]:
        """Run ``job`` once; :meth:`close` waits for its end."""
        task = asyncio.ensure_future(job)
        self._once.add(task)  # the loop itself holds tasks only weakly
        task.add_done_callback(self._once.discard)
        return task

    def repeat(
        self, job: Callable[[], Awaitable[None]], every: float, wake: asyncio.Event | None = None
    ) -> None:
        """Run ``job`` each ``every`` seconds, sooner if ``wake`` is set, until :meth:`close`."""
        self._endless.append(asyncio.ensure_future(self._again_and_again(job, every, wake)))

    async def close(self) -> None:
        """Cancel repeated tasks; wait for all other tasks."""
        for task in self._endless:
            task.cancel()
        await asyncio.gather(*self._endless, *self._once, return_exceptions=True)

    def report_error(self, error: Exception) -> None:
        """Report an unexpected error."""
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
            # Not wait_for: in 3.11 it swallows a cancellation that coincides with the wake-up, and
            # the campaign would never end.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every - AT_LEAST_S):
                    await wake.wait()
