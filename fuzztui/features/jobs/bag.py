"""Run a bag: keep the place's slots filled from the queue, and record each result once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import Empty
from typing import Any, Final

from fuzztui.features.jobs.places import Ended, JobTicket, Place, PlaceNote, Progress
from fuzztui.features.jobs.queue import JobQueue, QueuedJob
from fuzztui.features.jobs.request import JobOutcome

MAX_LOST: Final = 3
"""Attempts lost with their worker with which a job fails, unless the last loss is blameless."""
MAX_ATTEMPTS: Final = 30
"""Attempts after which a job fails even if all losses are blameless: workers keep vanishing."""
_LOOK_S: Final = 0.2


class BagListener:
    """What happens to the jobs of a bag; called in the thread that runs the bag."""

    def on_start(self, job: QueuedJob) -> None:
        """An attempt was submitted."""

    def on_progress(self, job: QueuedJob, data: dict[str, Any]) -> None:
        """The newest attempt of a job has printed an object."""

    def on_end(self, job: QueuedJob) -> None:
        """The job has ended, or waits again because its attempt was lost."""

    def on_note(self, text: str) -> None:
        """There is news about the place."""

    def on_look(self) -> None:
        """Called after events, and every fifth of a second while there are none."""


class Bag:
    """All jobs of a queue, on a place."""

    def __init__(
        self,
        queue: JobQueue,
        place: Place,
        request: Callable[[str], Mapping[str, Any]],
        *,
        check: Callable[[str, dict[str, Any]], str] = lambda job, result: "",
        listener: BagListener | None = None,
    ) -> None:
        """``request``: returns the request of a job by its id, as for :meth:`Place.submit`.

        ``check``: returns what is wrong with a job's result, by id and result; "": nothing.
        """
        self.queue, self.place = queue, place
        self._request, self._check = request, check
        self._listener = listener or BagListener()
        self._flying: set[JobTicket] = set()
        """Attempts whose end the place has not reported."""

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Run until all jobs and their processes have ended, or ``until`` returns true.

        The caller closes the place, also after an exception such as KeyboardInterrupt.
        """
        while not (self.queue.ended and not self._flying) and not until():
            self._fill()
            try:
                event = self.place.events.get(timeout=_LOOK_S)
            except Empty:
                self._listener.on_look()
                continue
            self._take(event)
            while not self.place.events.empty():
                self._take(self.place.events.get())
            self._listener.on_look()

    def skip(self, id_: str, why: str = "skipped") -> bool:
        """Cancel a job; what runs of it ends. Returns whether it had not ended yet."""
        job = self.queue.jobs[id_]
        changed = self.queue.cancel(id_, why)
        if changed:
            self._cancel_attempts(id_)
            self._listener.on_end(job)
        return changed

    # ------------------------------------------------------------------ events

    def _fill(self) -> None:
        slots = self.place.slots()
        while len(self._flying) < slots and (job := self.queue.take()) is not None:
            ticket = JobTicket(job.id, job.attempt)
            self._flying.add(ticket)
            self._listener.on_start(job)
            self.place.submit(ticket, self._request(job.id))

    def _take(self, event: object) -> None:
        match event:
            case Progress(ticket, data, where):
                job = self.queue.jobs[ticket.job]
                if ticket in self._flying and ticket.attempt == job.attempt:
                    job.where = where or job.where
                    self._listener.on_progress(job, data)
            case Ended(ticket, outcome):
                self._flying.discard(ticket)
                self._ended(ticket, outcome)
            case PlaceNote(text):
                self._listener.on_note(text)

    def _ended(self, ticket: JobTicket, outcome: JobOutcome) -> None:
        job, queue = self.queue.jobs[ticket.job], self.queue
        if outcome.result is not None and (why := self._check(ticket.job, outcome.result)):
            outcome = JobOutcome(why=f"its result is damaged: {why}")
        if outcome.result is not None:
            changed = queue.done(*ticket, outcome.result)
            self._cancel_attempts(ticket.job)  # a later attempt that runs at the same time
        elif outcome.cancelled:
            # On request: the job has ended already. Otherwise another client cancelled it.
            changed = queue.lost(*ticket, outcome.why, counts=False)
        elif not outcome.lost:
            changed = queue.failed(*ticket, outcome.why)
        elif job.lost + 1 >= MAX_LOST and not outcome.blameless:
            changed = queue.failed(*ticket, f"{MAX_LOST} attempts were lost: {outcome.why}")
        elif job.attempt >= MAX_ATTEMPTS:
            changed = queue.failed(*ticket, f"{MAX_ATTEMPTS} attempts: {outcome.why}")
        else:
            changed = queue.lost(*ticket, outcome.why, counts=not outcome.blameless)
        if changed:
            self._listener.on_end(job)

    def _cancel_attempts(self, id_: str) -> None:
        for ticket in [ticket for ticket in self._flying if ticket.job == id_]:
            self.place.cancel(ticket)
