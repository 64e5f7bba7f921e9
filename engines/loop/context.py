"""The context: everything that an engine builds its parts from."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import Store
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import Target
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.stages import Seed
from fuzztui.engines.loop.work import Work

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of the worker that engines use. ``rng`` is the only source of randomness."""

    spec: Spec
    rng: random.Random
    executor: Executor
    tokens: Sequence[bytes]
    """Tokens of the dictionary; the list is replaced in place when modules are imported late."""
    learn: Callable[[Sequence[bytes]], None]
    """Adds tokens to the dictionary."""
    seeds: Sequence[Seed]
    text: bool
    """Whether the target takes ``str``, else ``bytes``."""
    journal: TrialJournal
    store: Store
    log: EventLog
    reported: ReportedEvents
    """What earlier workers of this instance have reported."""
    unsafe: Collection[int]
    """Ids of queue entries that have killed a worker: they never run again."""
    target: Target
    application: Application
    prepared: object = None
    """The result of the engine's ``prepare``; None if the engine has none."""
    work: Work = field(default_factory=Work)
    """The work of this worker's trials."""

    def make_again(self, entry: CorpusEntry, make: Callable[[], _T]) -> _T | None:
        """Call what makes an entry's input again, under the guard; None if that fails.

        The journal has the entry, in case the process dies; it is no trial.
        """
        self.executor.fixture.restore()
        again = Candidate(entry.data, j.REBUILD, entry.id)
        self.journal.begin(time.monotonic_ns(), again, counts=False)
        made = self.executor.guarded(make, None)
        self.journal.end()
        return made
