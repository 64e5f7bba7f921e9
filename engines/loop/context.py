"""The context: everything that an engine builds its parts from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import Store
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import Target
from fuzztui.engines.loop.stages import SeedFile


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
    seeds: Sequence[SeedFile]
    text: bool
    """Whether the target takes ``str``, else ``bytes``."""
    journal: TrialJournal
    store: Store
    log: EventLog
    reported: ReportedEvents
    """What earlier workers of this instance have reported."""
    target: Target
    application: Application
    prepared: object = None
    """The result of the engine's ``prepare``; None if the engine has none."""
