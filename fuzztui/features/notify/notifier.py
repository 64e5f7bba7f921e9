"""Runs ``notify.command`` in a running campaign: which news is due, and how often it may be run."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fuzztui.features.notify.command import run_command
from fuzztui.features.notify.news import News, end_news, findings_news, news_object, stall_news
from fuzztui.kernel.model.new_groups import Notifications, new_groups
from fuzztui.kernel.model.stall import quiet_s
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import (
    END,
    NEW_FINDINGS,
    STALL,
    Event,
    FindingDescribed,
    FindingSaved,
    Message,
    Notified,
)
from fuzztui.run.process.service import Service, ServiceContext

HOUR_S: Final = 3600.0
LOOK_S: Final = 1.0
"""Seconds between two looks at what is due, if no finding wakes the notifier."""

AGAIN_S: Final = 60.0
MAX_AGAIN_S: Final = 1800.0
"""Seconds from a failure of the command to the next attempt: the first delay, doubled after each
failure, and the longest."""

LAST_S: Final = 10.0
"""Seconds by which the last notifications may delay the end of a campaign."""


class Notifier(Service):
    """Reports news by the campaign's command. What was reported is in the log, and so in ``state``.

    :param settings: the table ``[notify]``, checked.
    :param run: the run directory.
    :param record: logs an event.
    :param now: returns the campaign time in seconds.
    :param monotonic: returns the time by which the runs within an hour are counted.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        run: Path,
        state: State,
        record: Callable[[Event], None],
        now: Callable[[], float],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._run, self._state, self._record = run, state, record
        self._now, self._monotonic = now, monotonic
        self._woken = asyncio.Event()
        self._one = asyncio.Lock()
        self._runs: deque[float] = deque()
        """When the command was run within the last hour."""

        self._delay = 0.0
        """Seconds from the last failure to the next attempt; 0: the command last succeeded."""
        self._not_before = 0.0

    def saw(self, event: Event) -> None:
        """Wake :meth:`run` if the event may make a new group of findings."""
        if isinstance(event, FindingSaved | FindingDescribed):
            self._woken.set()

    async def run(self) -> None:
        """Report news until cancelled."""
        while True:
            self._woken.clear()
            if (news := self._due()) and self._may_run():
                await self._report(news)
                continue
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._woken.wait()
            except TimeoutError:
                pass

    async def ended(self, end: str, reason: str) -> None:
        """Report what is left, whatever the limit, and the end, within ``LAST_S`` seconds."""
        try:
            async with asyncio.timeout(LAST_S):
                # All groups now: no description will come any more.
                if news := self._new_groups(float("inf")):
                    await self._report(news)
                if END in self._settings["on"]:
                    await self._report(end_news(self._state, end, reason))
        except TimeoutError:
            self._record(Message("warning", "notify.command: not all news was reported in time"))

    def _due(self) -> News | None:
        """The news to report now; None if there is none."""
        if news := self._new_groups(self._now()):
            return news
        quiet = quiet_s(self._state, self._now())
        if STALL not in self._settings["on"] or quiet < self._settings["stall"]:
            return None
        reported = self._state.part(Notifications).stall_t
        # Once for each stall: something new was found since the last one.
        if 0 <= self._now() - reported < quiet:
            return None
        return stall_news(self._state, quiet)

    def _new_groups(self, now: float) -> News | None:
        if NEW_FINDINGS not in self._settings["on"]:
            return None
        reported = self._state.part(Notifications).findings
        found = new_groups(self._state, reported, now)
        return findings_news(self._state, found, self._run) if found else None

    def _may_run(self) -> bool:
        now = self._monotonic()
        while self._runs and self._runs[0] <= now - HOUR_S:
            self._runs.popleft()
        most: int = self._settings["max_per_hour"]
        return now >= self._not_before and len(self._runs) < most

    async def _report(self, news: News) -> None:
        async with self._one:
            self._runs.append(self._monotonic())
            data = news_object(self._state, news, self._run, self._now())
            problem = await run_command(self._settings["command"], data, self._run)
            self._delay = min(2 * self._delay or AGAIN_S, MAX_AGAIN_S) if problem else 0.0
            self._not_before = self._monotonic() + self._delay
            reported = [] if problem else list(news.findings)
            self._record(Notified(news.kind, news.text, reported, problem))


def services(context: ServiceContext) -> list[Notifier]:
    """The notifier, if the campaign has a table ``[notify]``."""
    run, settings = context.run_dir.path, context.campaign.table("notify")
    of = (run, context.state, context.record, context.now)
    return [Notifier(settings, *of)] if settings else []
