"""The services of a campaign. A supervisor and a hub run them in the same way."""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fuzztui.kernel.model.feature import own_features, package_features
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.events import Event, Message
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler, Service, ServiceContext
from fuzztui.run.supervise.launchers import launcher_for
from fuzztui.run.supervise.package_service import package_services
from fuzztui.run.supervise.tasks import Tasks

MAX_WAIT_S: Final = 10.0
"""Seconds by which services may delay the end of a campaign that a user stops."""

PATIENT_S: Final = 300.0
"""Seconds by which services may delay the end of a campaign that no user stops: enough to examine
some hundred findings."""


def all_services(context: ServiceContext) -> list[Service]:
    """Return the services of a campaign. Raises :class:`SupervisorError`."""
    triage = None if context.is_hub else launcher_for(context.campaign.kind).triage(context)
    found: list[Service] = [] if triage is None else [triage]
    several = bool(context.campaign.targets)
    for feature in own_features():
        if several and not feature.of_several:
            continue
        found += feature.load(feature.services)(context) if feature.services else ()
    for feature in package_features():
        found += package_services(feature, context) if feature.services else ()
    return found


class Services:
    """The services of one campaign, which run until ``tasks`` are closed."""

    def __init__(
        self, services: Sequence[Service], tasks: Tasks, record: Callable[..., None]
    ) -> None:
        self._services, self._tasks, self._record = services, tasks, record
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

    def refusal(self, command: Command, by: str) -> str:
        """Return why a service refuses a command of ``by``; an empty string: none does."""
        return next(filter(None, (s.refusal(command, by) for s in self._services)), "")

    def at_start(self) -> list[Event]:
        """Return events to log before the campaign starts. Blocking. Raises SupervisorError."""
        return [event for service in self._services for event in service.at_start()]

    def setup(self, progress: Callable[[str], None]) -> list[Message]:
        """Prepare what instances need. Blocking. Returns messages to log. Raises SupervisorError.

        ``progress``: called with a message about each slow step.
        """
        return [message for service in self._services for message in service.setup(progress)]

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
        """Let services do what is left, then close them; record what was not done in time.

        They get ``PATIENT_S`` (``MAX_WAIT_S`` if ``is_stopped``), or until :meth:`hurry` is called.
        """
        limit = MAX_WAIT_S if is_stopped else PATIENT_S
        finishing = (service.finish() for service in self._services)
        work = asyncio.gather(*finishing, return_exceptions=True)
        halt = asyncio.ensure_future(self._hurry.wait())
        both: set[asyncio.Future[Any]] = {work, halt}
        try:
            done, _ = await asyncio.wait(both, timeout=limit, return_when=FIRST_COMPLETED)
        finally:
            for one in (work, halt):
                one.cancel()
            await asyncio.gather(work, halt, return_exceptions=True)
        for error in work.result() if work in done else ():
            if isinstance(error, Exception):
                self._tasks.report_error(error)
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
