"""The workers of a dask.distributed cluster as a place for jobs.

Dask never holds more than a window of the bag: what it holds is lost with the scheduler, cannot be
put in another order, and goes on running when it is cancelled. A job that is cancelled therefore
ends by a distributed Event, for which each running job waits at the scheduler. The same wait is
its lease: a worker that is cut off ends its jobs by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

import distributed

from fuzztui.features.jobs.config import ClusterError
from fuzztui.features.jobs.dask_client import HERE, ByValue, answered, versions
from fuzztui.features.jobs.dask_task import LEASE_S, carry_out_on_worker, probe
from fuzztui.features.jobs.places import (
    CANCELLED,
    CLOSED,
    Ended,
    Events,
    JobTicket,
    PlaceFacts,
    PlaceNote,
    Progress,
)
from fuzztui.features.jobs.request import JobOutcome, outcome_of, progress_of
from fuzztui.kernel.base.text import several

_LOOK_S: Final = 1.0
_CANCEL_S: Final = 20.0
"""Seconds after which a cancelled attempt that does not answer is given up: its worker is cut off,
and ends it when its lease is over."""
_MAX_AGAIN_S: Final = 15.0
_PROBE_S: Final = 120.0
_AHEAD: Final = 1
"""Attempts that wait at the scheduler, so that no worker is idle between two."""


class DaskPlace:
    """All workers of a scheduler. ``open_client`` is called again when the client has ended."""

    def __init__(
        self,
        open_client: Callable[[], distributed.Client],
        *,
        python: str = "",
        task: Callable[[dict[str, Any], dict[str, Any]], Any] = carry_out_on_worker,
        lease_s: float = LEASE_S,
    ) -> None:
        """``python``: the workers' interpreter for jobs. ``task``: what workers run.

        Raises :class:`ClusterError`.
        """
        self.owned = contextlib.ExitStack()
        """Ends what was started for the place."""
        self.events: Events = SimpleQueue()
        self._open, self._python = open_client, python
        self._task, self._lease_s = ByValue(task), lease_s
        self._id = f"fuzztui-{uuid.uuid4().hex[:12]}"
        self._lock = threading.Lock()
        self._futures: dict[JobTicket, distributed.Future] = {}
        self._stopping: dict[JobTicket, tuple[float, str]] = {}
        """Cancelled attempts: when they are given up, and why they were cancelled."""
        self._seen: dict[JobTicket, tuple[str, int]] = {}
        """The run, and the number of the last line, of each attempt."""
        self._threads = 0
        self._closed = threading.Event()
        self._client = self._open()
        self.name = str(self._client.scheduler_info()["address"])
        self._listen()
        self._look()
        self._monitor = threading.Thread(target=self._watch, daemon=True)
        self._monitor.start()

    def slots(self) -> int:
        """The number of the workers' threads, and one that waits; 0 if no worker is connected."""
        if self._client.status != "running":
            return 0
        return self._threads + _AHEAD if self._threads else 0

    def submit(self, ticket: JobTicket, request: Mapping[str, Any]) -> None:
        """Give an attempt to the scheduler."""
        data = {**request, "python": request.get("python") or self._python}
        channel = {
            "topic": self._id,
            "event": self._event(ticket),
            "ticket": list(ticket),
            "lease_s": self._lease_s,
        }
        key = f"{self._event(ticket)}-{uuid.uuid4().hex[:8]}"
        try:
            future = self._client.submit(self._task, data, channel, key=key, pure=False)
        except Exception as e:
            self._threads = 0
            lost = JobOutcome(why=f"{type(e).__name__}: {e}", lost=True, blameless=True)
            self.events.put(Ended(ticket, lost))
            return
        with self._lock:
            self._futures[ticket] = future
        future.add_done_callback(partial(self._done, ticket))

    def cancel(self, ticket: JobTicket) -> None:
        """Request the end of the attempt's processes."""
        self._cancel(ticket, CANCELLED)

    def close(self) -> None:
        """Cancel everything, wait for the ends, leave the scheduler, end what it has started."""
        for ticket in list(self._futures):
            self._cancel(ticket, CLOSED)
        until = time.monotonic() + _CANCEL_S
        while self._futures and self._threads and time.monotonic() < until:
            time.sleep(0.05)
        self._closed.set()
        self._monitor.join(2 * _LOOK_S)
        with contextlib.suppress(Exception, asyncio.CancelledError):
            answered(lambda: self._client.close(timeout=5), 10.0)
        self.owned.close()

    def describe(self) -> str:
        """Return name and slots, for example ``tls://10.0.0.5:8786 (16 slots)``."""
        waits = "" if self._threads else ": waiting for a worker"
        return f"{self.name} ({several(self._threads, 'slot')}{waits})"

    def facts(self) -> PlaceFacts:
        """The versions, and the workers with their threads. Raises :class:`ClusterError`."""
        found = versions(self._client)
        try:
            threads = answered(self._client.nthreads)
        except Exception as e:
            raise ClusterError(f"{self.name}: the scheduler does not answer: {e}") from None
        workers = [f"{name}, {several(n, 'slot')}" for name, n in sorted(threads.items())]
        return sum(threads.values()), found[HERE], workers

    def probe(self, question: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Ask each worker what it can do (:func:`~fuzztui.features.jobs.dask_task.probe`)."""
        asked = {"python": self._python, **question}
        try:
            ask = partial(self._client.run, ByValue(probe), asked, on_error="return")
            found: Any = answered(ask, _PROBE_S)
        except Exception as e:
            raise ClusterError(f"{self.name}: the workers do not answer: {e}") from None
        return {
            str(worker): answer if isinstance(answer, dict) else {"failed": repr(answer)[:300]}
            for worker, answer in found.items()
        }

    # ------------------------------------------------------------------- ends

    def _cancel(self, ticket: JobTicket, why: str) -> None:
        with self._lock:
            future = self._futures.get(ticket)
            if future is None or ticket in self._stopping:
                return
            self._stopping[ticket] = (time.monotonic() + _CANCEL_S, why)
            began = ticket in self._seen
        with contextlib.suppress(Exception, asyncio.CancelledError):
            answered(distributed.Event(self._event(ticket), client=self._client).set, 5.0)
            if not began and not self._is_running(future.key):
                # The job waits at the scheduler, and does not look at the event yet.
                answered(partial(future.cancel, force=True), 5.0)

    def _is_running(self, key: Any) -> bool:
        """Whether a worker runs the task, although its first message may not have arrived yet."""
        found: Any = answered(self._client.processing, 5.0)
        return any(key in keys for keys in found.values())

    def _done(self, ticket: JobTicket, future: distributed.Future) -> None:
        """Called in Dask's thread for callbacks, once for each future."""
        self._end(ticket, self._outcome(future))

    def _outcome(self, future: distributed.Future) -> JobOutcome:
        lost = "the connection to the scheduler was lost"
        try:
            if future.status == "finished":
                return outcome_of(future.result(timeout=60))
            if future.status == "error":
                error = future.exception(timeout=60)
                if isinstance(error, distributed.scheduler.KilledWorker):
                    where = getattr(getattr(error, "last_worker", None), "address", "")
                    return JobOutcome(why=f"the worker {where} died while it ran", lost=True)
                return JobOutcome(why=f"{type(error).__name__}: {error}"[:500], lost=True)
        except (Exception, asyncio.CancelledError) as e:
            lost = f"{type(e).__name__}: {e}"[:500]
        # No slots until the scheduler answers again: else all attempts would be used up at once.
        self._threads = 0
        return JobOutcome(why=lost, lost=True, blameless=True)

    def _end(self, ticket: JobTicket, outcome: JobOutcome) -> None:
        with self._lock:
            if self._futures.pop(ticket, None) is None:
                return
            stopping = self._stopping.pop(ticket, None)
            self._seen.pop(ticket, None)
        if stopping is not None:
            if outcome.result is None:
                outcome = JobOutcome(why=stopping[1], cancelled=True)
            with contextlib.suppress(Exception, asyncio.CancelledError):
                answered(distributed.Event(self._event(ticket), client=self._client).clear, 5.0)
        self.events.put(Ended(ticket, outcome))

    def _event(self, ticket: JobTicket) -> str:
        return f"{self._id}-{ticket.job}-{ticket.attempt}"

    # ---------------------------------------------------------------- progress

    def _listen(self) -> None:
        self._client.subscribe_topic(self._id, self._on_message)

    def _on_message(self, event: tuple[float, Any]) -> None:
        """Called in the client's loop. Messages are not authenticated within a cluster."""
        match event[1]:
            case {"ticket": [str(job), int(attempt)], "run": str(run), "n": int(n), **more}:
                ticket = JobTicket(job, attempt)
            case _:
                return
        with self._lock:
            if ticket not in self._futures:
                return
            if self._seen.get(ticket, ("", -1)) >= (run, n) and self._seen[ticket][0] == run:
                return
            self._seen[ticket] = (run, n)
        where = str(more.get("where", ""))[:200]
        data = progress_of(more.get("line"))
        if data is not None or where:
            self.events.put(Progress(ticket, data or {}, where))

    # ----------------------------------------------------------------- monitor

    def _look(self) -> None:
        try:
            found = answered(self._client.nthreads, 5 * _LOOK_S)
            self._threads = sum(n for n in found.values() if isinstance(n, int))
        except (Exception, asyncio.CancelledError):
            self._threads = 0

    def _watch(self) -> None:
        """Follow the workers that come and go, and connect again to a scheduler that was away."""
        again_s, away = _LOOK_S, False
        while not self._closed.wait(_LOOK_S):
            status = self._client.status
            if status == "running":
                if away:
                    self._listen()
                    self.events.put(PlaceNote(f"{self.name} is back"))
                    away, again_s = False, _LOOK_S
                self._look()
            else:
                self._threads = 0
                if not away:
                    away = True
                    self.events.put(
                        PlaceNote(f"{self.name} is away; jobs that ran are tried again")
                    )
                if status in ("closed", "closing"):
                    self._closed.wait(again_s)
                    again_s = min(2 * again_s, _MAX_AGAIN_S)
                    with contextlib.suppress(ClusterError):
                        self._client = self._open()
            self._give_up()

    def _give_up(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = [t for t, (until, _) in self._stopping.items() if now >= until]
            futures = [self._futures[t] for t in late]
        for ticket, future in zip(late, futures, strict=True):
            with contextlib.suppress(Exception, asyncio.CancelledError):
                answered(partial(future.cancel, force=True), 5.0)
            self._end(ticket, JobOutcome(why=CANCELLED, cancelled=True))
