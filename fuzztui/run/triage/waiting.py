"""The findings that wait for a description, because the engine itself does not describe them.

They are run one at a time. The next supervisor describes the findings that are left at the end of
this one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, FindingDescribed, FindingSaved
from fuzztui.run.process.service import Service


class Triage(Service):
    """Describes findings (stack, signature, title) that wait. Runs in the event loop.

    :param record: logs an event.
    :param state: the campaign, folded from its log.
    """

    def __init__(self, record: Callable[[Event], None], state: State) -> None:
        self._record, self._state = record, state
        self._waiting: deque[FindingSaved] = deque()
        self._known: set[tuple[str, str]] = set()
        self._more = asyncio.Event()
        self._one = asyncio.Lock()

    def _is_for(self, finding: FindingSaved) -> bool:
        raise NotImplementedError

    async def _describe(self, finding: FindingSaved) -> FindingDescribed | None:
        """Return the description of a finding; None: later, after another :meth:`_put`.

        May be cancelled, and must raise nothing else: the finding would never be described.
        """
        raise NotImplementedError

    def _rest_s(self, took_s: float) -> float:
        """Seconds to rest after a finding that has taken ``took_s`` seconds."""
        return 0.0

    def _next(self) -> FindingSaved:
        return self._waiting.popleft()

    def _put(self, finding: FindingSaved) -> None:
        self._waiting.append(finding)
        self._more.set()

    def saw(self, event: Event) -> None:
        """Note a saved finding."""
        if isinstance(event, FindingSaved) and self._is_for(event):
            key = (event.instance, event.file)
            if key not in self._known:
                self._known.add(key)
                self._put(event)

    async def run(self) -> None:
        """Describe old and new findings until cancelled."""
        for row in list(self._state.findings.values()):
            if row.saved and not row.signature:
                self.saw(FindingSaved(row.instance, row.category, row.file, sig=row.sig))
        while True:
            while not self.waiting:
                self._more.clear()
                await self._more.wait()
            began = time.monotonic()
            await self._step()
            await asyncio.sleep(self._rest_s(time.monotonic() - began))

    async def finish(self) -> None:
        """Describe the findings that are left, without rests. May be cancelled."""
        while self.left:
            await self._step()

    async def _step(self) -> None:
        async with self._one:
            if not self.waiting:
                return
            finding = self._next()
            try:
                described = await self._describe(finding)
            except asyncio.CancelledError:
                self._put(finding)
                raise
            if described:
                self._record(described)

    @property
    def waiting(self) -> int:
        """Number of findings that wait to be run."""
        return len(self._waiting)

    @property
    def left(self) -> int:
        """Number of findings without a description, including the one that is being run."""
        return self.waiting + self._one.locked()

    @property
    def pending(self) -> str:
        """The number of findings without a description, as text; empty if 0."""
        return several(self.left, "finding") if self.left else ""
