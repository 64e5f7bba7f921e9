"""The observation loop: read the instance directories in a thread, record what is new."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence

from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.events import Message
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.instances.launcher import Launcher
from fuzztui.run.instances.life import InstanceLife
from fuzztui.run.observe.directory import DirectoryObserver, ObservedBatch
from fuzztui.run.observe.stats_reader import StatsSource
from fuzztui.run.supervise.campaign_log import CampaignLog
from fuzztui.run.supervise.tasks import Tasks


class ObservationLoop:
    """Observes the instances, one pass at a time, and records events in the order observed.

    ``woken`` is set when the next pass should start at once.
    """

    def __init__(self, run_dir: RunDir, launcher: Launcher, log: CampaignLog, tasks: Tasks) -> None:
        self._launcher, self._log, self._tasks = launcher, log, tasks
        self._lock = asyncio.Lock()
        self.woken = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed already
                loop.call_soon_threadsafe(self.woken.set)

        self._observer = DirectoryObserver(run_dir.out, log.state, log.offsets, log.done, wake)
        self.interrupted = self._observer.interrupted
        self.close = self._observer.close

    def add_passive(self, names: Iterable[str]) -> list[Message]:
        """Observe passive instances, too. Returns messages to record. Raises OSError."""
        return [note for name in names for note in self._observer.add(name)]

    def add(self, lives: Iterable[InstanceLife], *, mutant: bool = False) -> list[Message]:
        """Observe these instances from now on. Returns messages to record. Raises OSError."""
        notes: list[Message] = []
        # A second source of statistics would take the port of the first one.
        for life in (life for life in lives if not self._observer.observes(life.name)):
            life.directory.mkdir(mode=0o700, exist_ok=True)
            source = self._stats_source(life.run_dir, life.name)
            directory = life.directory if mutant else None
            notes += self._observer.add(life.name, source, mutant=directory)
        return notes

    def add_retired(self, run_dir: RunDir, name: str) -> None:
        """Observe an instance that is no longer part of the campaign."""
        self._observer.add(name, self._stats_source(run_dir, name))

    def _stats_source(self, run_dir: RunDir, name: str) -> StatsSource:
        known = self._log.state.instances.get(name) or Instance(name)
        return self._launcher.stats_source(run_dir, name, known)

    async def join_running(self, lives: Sequence[InstanceLife], *, mutant: bool = False) -> None:
        """Add instances to a running campaign, between two passes."""
        async with self._lock:
            self._log.record(*self.add(lives, mutant=mutant))

    async def observe(self) -> None:
        """Record what is new in all instances."""
        await self._do(self._observer.poll)

    async def observe_final(self, name: str) -> None:
        """Record everything left in the directory of an instance without a process."""
        await self._do(functools.partial(self._observer.observe_final, name))

    async def remove(self, name: str) -> None:
        """Observe an instance for the last time, then no longer."""
        await self._do(functools.partial(self._observer.remove, name))

    async def _do(self, job: Callable[[], ObservedBatch]) -> None:
        # Shielded: the observer returns each event once, so a lost batch would be lost for good.
        await asyncio.shield(self._tasks.spawn(self._locked(job)))

    async def _locked(self, job: Callable[[], ObservedBatch]) -> None:
        async with self._lock:
            batch = await asyncio.to_thread(job)
            self._log.record(*batch.events)
            self._log.carried(batch.offsets)
            if batch.behind:
                self.woken.set()
