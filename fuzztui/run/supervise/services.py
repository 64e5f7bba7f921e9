"""The services of a campaign, which supervisor and hub run alike."""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from fuzztui.kernel.base.plugins import named
from fuzztui.kernel.model.feature import features
from fuzztui.kernel.wire.events import Event, Message
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler, Service, ServiceContext
from fuzztui.run.supervise.package_service import package_service
from fuzztui.run.supervise.tasks import Tasks

SERVICES: Final = (
    "fuzztui.features.verdicts.keeper:service",
    "fuzztui.features.fuzzfirst.handlers:service",
    "fuzztui.run.supervise.launchers:service",
    "fuzztui.features.oracle.process:service",
    "fuzztui.features.gcov.process:service",
    "fuzztui.features.mutators.process:service",
    "fuzztui.machines.hosts.examples:service",
)
"""Functions that return the service for a :class:`ServiceContext`; None: there is nothing to do.
Those of the features come after them."""

MAX_WAIT_S: Final = 10.0
"""Seconds by which services may delay the end of a campaign that a user stops."""

PATIENT_S: Final = 300.0
"""The same where no user stops it: some hundred findings can be examined."""


def all_services() -> list[Callable[[ServiceContext], Service | None]]:
    """Return the functions that make services."""
    added = [partial(package_service, feature) for feature in features() if feature.service]
    return [*map(named, SERVICES), *added]


class Services:
    """The services of one campaign, which run until ``tasks`` are closed."""

    def __init__(
        self,
        context: ServiceContext,
        tasks: Tasks,
        functions: Iterable[Callable[[ServiceContext], Service | None]],
    ) -> None:
        self._record, self._tasks = context.record, tasks
        made = [function(context) for function in functions]
        self._services = [service for service in made if service is not None]
        self._watchers = [s.saw for s in self._services if type(s).saw is not Service.saw]
        self._hurry = asyncio.Event()

    @property
    def directories(self) -> list[str]:
        """The directories in ``out/`` that services fill with entries."""
        return [service.directory for service in self._services if service.directory]

    def handlers(self, others: Mapping[str, Handler]) -> Mapping[str, Handler]:
        """Return the handlers of all services and ``others``, by the command's name.

        Raises :class:`SupervisorError` if two are for the same command.
        """
        found = dict(others)
        for service in self._services:
            for name, handler in service.handlers().items():
                if name in found:
                    raise SupervisorError(f"{type(service)}: {name} has a handler already")
                found[name] = handler
        return found

    def at_start(self) -> list[Event]:
        """Return events to log before the campaign starts. Blocking. Raises SupervisorError."""
        return [event for service in self._services for event in service.at_start()]

    def saw(self, event: Event) -> None:
        """Pass on an event that was recorded and is in the state."""
        for saw in self._watchers:
            saw(event)

    def start(self) -> None:
        """Run all services."""
        for service in self._services:
            if type(service).run is not Service.run:
                self._tasks.repeat(service.run, service.again_s)

    def hurry(self) -> None:
        """Let :meth:`finish` return soon: a user stops the campaign."""
        self._hurry.set()

    def pending(self) -> str:
        """Return what is left to do before the end, as text; an empty string if nothing is."""
        left = " and ".join(filter(None, (service.pending for service in self._services)))
        return f"checking {left}" if left else ""

    async def finish(self, *, is_stopped: bool) -> None:
        """Do what is left; after a while, or :meth:`hurry`, record what was not done. Then end."""
        limit = MAX_WAIT_S if is_stopped else PATIENT_S
        work = asyncio.gather(*(service.finish() for service in self._services))
        halt = asyncio.ensure_future(self._hurry.wait())
        both: set[asyncio.Future[Any]] = {work, halt}
        try:
            done, _ = await asyncio.wait(both, timeout=limit, return_when=FIRST_COMPLETED)
        finally:
            for one in (work, halt):
                one.cancel()
            await asyncio.gather(work, halt, return_exceptions=True)
        if work in done:
            work.result()  # raises what a service has raised
        for left in filter(None, (service.pending for service in self._services)):
            later = "resume the campaign to continue"
            later += ", or run one with fuzztui repro" if "finding" in left else ""
            self._record(Message("info", f"{left} not checked in time: {later}"))
        await asyncio.gather(*(service.close() for service in self._services))

    async def ended(self, end: str, reason: str) -> None:
        """Let services do what they do last, when the tasks are closed."""
        for service in self._services:
            try:
                await service.ended(end, reason)
            except Exception as e:
                self._tasks.report_error(e)
