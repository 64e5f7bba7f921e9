"""Places where jobs run: the interface, and the slots of this machine."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

from fuzztui import __version__
from fuzztui.features.jobs.carry import carry_out
from fuzztui.features.jobs.request import JobOutcome, outcome_of, progress_of

CANCELLED = "cancelled"
CLOSED = "the place was closed"


class JobTicket(NamedTuple):
    """One attempt of a job."""

    job: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Progress:
    """What a running job has printed: one JSON object. ``where``: the machine and process."""

    ticket: JobTicket
    data: dict[str, Any]
    where: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """The one end of an attempt: none of its processes is left, as far as the place knows."""

    ticket: JobTicket
    outcome: JobOutcome


@dataclass(frozen=True, slots=True)
class PlaceNote:
    """News about the place itself, for the user."""

    text: str


PlaceFacts = tuple[int, Mapping[str, str], Sequence[str]]
"""What a place has: jobs at a time, versions by package, and its workers as texts."""

PlaceEvent = Progress | Ended | PlaceNote
Events = SimpleQueue[Any]
"""The queue into which a place puts its :data:`PlaceEvent`; any thread may put."""


class Place(Protocol):
    """Where attempts run. The methods are called by one thread."""

    events: Events

    def slots(self) -> int:
        """Number of attempts that may be submitted at the same time now; 0: cannot be reached."""

    def submit(self, ticket: JobTicket, request: Mapping[str, Any]) -> None:
        """Start an attempt, or put it in line. There will be exactly one ``Ended`` for it."""

    def cancel(self, ticket: JobTicket) -> None:
        """End the processes of an attempt. Its ``Ended`` follows; nothing if it has ended."""

    def close(self) -> None:
        """Cancel everything, wait until the processes have ended, and release the place."""

    def describe(self) -> str:
        """Return what the place is, for the user."""

    def facts(self) -> PlaceFacts:
        """Return what the place has. Raises :class:`ClusterError`."""

    def probe(self, question: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Ask each worker what it can do (:func:`~fuzztui.features.jobs.dask_task.probe`), by its
        name; nothing if jobs run on this machine. Raises :class:`ClusterError`.
        """


class LocalSlots:
    """Slots on this machine: ``count`` jobs at a time, each under a guard of its own."""

    def __init__(self, count: int, python: str = "") -> None:
        self.events: Events = SimpleQueue()
        self._count, self._python = count, python
        self._stops: dict[JobTicket, str] = {}
        """Why running attempts must stop; an empty string: they go on."""
        self._threads: dict[JobTicket, threading.Thread] = {}

    def slots(self) -> int:
        """The number of slots."""
        return self._count

    def submit(self, ticket: JobTicket, request: Mapping[str, Any]) -> None:
        """Start an attempt at once, in a thread."""
        self._stops[ticket] = ""
        data = {**request, "python": request.get("python") or self._python}
        thread = threading.Thread(target=self._run, args=(ticket, data), daemon=True)
        self._threads[ticket] = thread
        thread.start()

    def cancel(self, ticket: JobTicket) -> None:
        """Have the attempt stopped within a tenth of a second."""
        if ticket in self._stops:
            self._stops[ticket] = CANCELLED

    def close(self) -> None:
        """End all attempts."""
        for ticket in list(self._stops):
            self._stops[ticket] = CLOSED
        for thread in list(self._threads.values()):
            thread.join()

    def describe(self) -> str:
        """``2 local slots``."""
        return f"{self._count} local slot{'s' * (self._count != 1)}"

    def facts(self) -> PlaceFacts:
        """The slots of this machine."""
        return self._count, {"Python": sys.version.split()[0], "fuzztui": __version__}, ()

    def probe(self, question: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Nothing: jobs run here."""
        return {}

    def _run(self, ticket: JobTicket, request: dict[str, Any]) -> None:
        outcome = JobOutcome(why="the thread of the job ended", lost=True)

        def say(line: str) -> None:
            if (data := progress_of(line)) is not None:
                self.events.put(Progress(ticket, data))

        try:
            answer = carry_out(request, say, lambda: self._stops[ticket])
            outcome = outcome_of(answer)
            if answer["why"] in (CANCELLED, CLOSED):
                outcome = JobOutcome(why=answer["why"], cancelled=True)
        except Exception as e:  # an error of fuzztui must not keep the bag waiting
            outcome = JobOutcome(why=f"{type(e).__name__}: {e}")
        finally:
            del self._stops[ticket], self._threads[ticket]
            self.events.put(Ended(ticket, outcome))
