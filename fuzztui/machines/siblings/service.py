"""The service that exchanges entries with one sibling while the campaign runs."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any, Final

from fuzztui.kernel.wire.events import EntrySaved, Event
from fuzztui.machines.siblings.exchange import SiblingExchange
from fuzztui.machines.siblings.fold import SiblingState, sibling_rows
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.instances.launcher import instance_names
from fuzztui.run.process.service import Service, ServiceContext

RECORD_S: Final = 10.0
"""Seconds between two events about a sibling, unless something goes wrong, or right again."""

REMOVED: Final = "is not in the campaign file now; what was imported stays"


class SiblingService(Service):
    """Exchanges entries with one sibling. ``sibling``: its table."""

    again_s = 3.0

    def __init__(self, context: ServiceContext, sibling: dict[str, Any]) -> None:
        self._context, self._sibling = context, sibling
        self._importer = instance_names(context.campaign)[0]
        self._due = 0.0
        self._turn = asyncio.Lock()

    def at_start(self) -> list[Event]:
        """Make the passive instance, which the fold must know before an entry of it is imported."""
        state, is_afl = self._context.state, self._context.campaign.kind == AFL
        run, name = self._context.run_dir, self._sibling["name"]
        try:
            self._exchange = SiblingExchange(run, self._sibling, self._importer, has_triage=is_afl)
        except OSError as e:
            raise SupervisorError(f"{e.filename or name}: {e.strerror or e}") from None
        for entry in list(state.entries.values()):
            if entry.saved:
                self.saw(EntrySaved(entry.instance, entry.id, entry.file, sync=entry.sync))
        rows = {row.instance: row for row, _ in sibling_rows(state)}
        self._recorded = replace(rows.get(name) or SiblingState(name), behind=True, problem="")
        self._taken, self._new_t = self._exchange.taken, self._recorded.new_t
        return [self._recorded]

    def saw(self, event: Event) -> None:
        """Note a new entry of the instance whose entries are exported."""
        if isinstance(event, EntrySaved):
            is_back = event.sync == self._sibling["name"]
            if event.instance == self._importer and not is_back:
                self._exchange.entry(event.file)

    async def run(self) -> None:
        """Exchange once, and record what has changed."""
        async with self._turn:
            problem = await asyncio.to_thread(self._exchange.go)
            before, t = self._recorded, self._context.now()
            for one in self._exchange.new_findings():
                if f"{one.instance}/{one.file}" not in self._context.state.findings:
                    self._context.record(one)
            if (taken := self._exchange.taken) > self._taken:
                self._taken, self._new_t = taken, t
            figures = self._exchange.figures
            now = replace(before, **figures, new_t=self._new_t, problem=problem)
            if now != before and (t >= self._due or problem != before.problem):
                self._due, self._recorded = t + RECORD_S, now
                self._context.record(now)

    async def finish(self) -> None:
        """Exchange what the instances have found last."""
        self._due = 0.0
        await self.run()


class RemovedSiblings(Service):
    """Records which siblings of earlier starts are no longer in the campaign file."""

    again_s = math.inf

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def at_start(self) -> list[Event]:
        """Say so in the rows of these siblings: their figures change no more."""
        now = self._context.campaign.table("siblings")
        rows = [row for row, _ in sibling_rows(self._context.state) if row.instance not in now]
        gone = [replace(row, problem=REMOVED) for row in rows]
        return [row for row in gone if row not in rows]


def services(context: ServiceContext) -> list[Service]:
    """Return the service of each sibling; none at a hub, where no instance runs."""
    if context.is_hub:
        return []
    siblings = context.campaign.table("siblings").values()
    return [*(SiblingService(context, one) for one in siblings), RemovedSiblings(context)]
