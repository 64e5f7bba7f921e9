"""The supervisor's looks at the directories: one at a time, in a thread, and into the log."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence

from fuzztui.campaign.rundir import RunDir
from fuzztui.instances.launcher import Launcher
from fuzztui.instances.life import InstanceLife
from fuzztui.model.state import Instance
from fuzztui.observe.directory import DirectoryObserver, ObservedBatch
from fuzztui.observe.stats_reader import FiguresSource
from fuzztui.supervise.campaign_log import CampaignLog
from fuzztui.supervise.tasks import Tasks
from fuzztui.wire.events import Message

__all__ = ["ObservationLoop"]


class ObservationLoop:
    """What is seen of the instances, recorded in the order in which it was seen.

    ``woken`` is set when there is something to see at once.
    """

    def __init__(self, run_dir: RunDir, launcher: Launcher, log: CampaignLog, tasks: Tasks) -> None:
        self._launcher, self._log, self._tasks = launcher, log, tasks
        self._lock = asyncio.Lock()
        self.woken = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: we are leaving
                loop.call_soon_threadsafe(self.woken.set)

        self._observer = DirectoryObserver(run_dir.out, log.state, log.offsets, log.done, wake)
        self.interrupted = self._observer.interrupted
        self.close = self._observer.close

    def add_passive(self, names: Iterable[str]) -> list[Message]:
        """Look at directories of instances that never fuzz, too. Raises OSError."""
        return [note for name in names for note in self._observer.add(name)]

    def add(self, lives: Iterable[InstanceLife], *, mutant: bool = False) -> list[Message]:
        """Look at these instances from now on; what should be known. Raises OSError."""
        notes: list[Message] = []
        for life in lives:
            life.directory.mkdir(mode=0o700, exist_ok=True)
            figures = self._figures(life.run_dir, life.name)
            place = life.directory if mutant else None
            notes += self._observer.add(life.name, figures, mutant=place)
        return notes

    def add_retired(self, run_dir: RunDir, name: str) -> None:
        """Look at an instance that the campaign has no more."""
        self._observer.add(name, self._figures(run_dir, name))

    def _figures(self, run_dir: RunDir, name: str) -> FiguresSource:
        known = self._log.state.instances.get(name) or Instance(name)
        return self._launcher.figures(run_dir, name, known)

    async def join_running(self, lives: Sequence[InstanceLife], *, mutant: bool = False) -> None:
        """Record what is seen of newcomers, between two looks."""
        async with self._lock:
            self._log.record(*self.add(lives, mutant=mutant))

    async def observe(self) -> None:
        """See what there is of all of them."""
        await self._do(self._observer.poll)

    async def observe_final(self, name: str) -> None:
        """Record everything that is left to see of an instance without a process."""
        await self._do(functools.partial(self._observer.last, name))

    async def remove(self, name: str) -> None:
        """See an instance for the last time, and look at it no more."""
        await self._do(functools.partial(self._observer.drop, name))

    async def _do(self, job: Callable[[], ObservedBatch]) -> None:
        # Shielded: what the observer has told once it never tells again.
        await asyncio.shield(self._tasks.spawn(self._locked(job)))

    async def _locked(self, job: Callable[[], ObservedBatch]) -> None:
        async with self._lock:
            batch = await asyncio.to_thread(job)
            self._log.record(*batch.events)
            self._log.carried(batch.offsets)
            if batch.behind:
                self.woken.set()
