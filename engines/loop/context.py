"""What an engine is given to build its parts from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import Store
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import Target
from fuzztui.engines.loop.stages import SeedFile

__all__ = ["Context"]


@dataclass(frozen=True, slots=True)
class Context:
    """Everything outside an engine. ``rng`` is the only source of chance."""

    spec: Spec
    rng: random.Random
    executor: Executor
    tokens: Sequence[bytes]
    """The dictionary. It grows in place when the target imports modules late."""
    seeds: Sequence[SeedFile]
    text: bool
    """Does the target take text?"""
    journal: TrialJournal
    store: Store
    log: EventLog
    told: ReportedEvents
    """What was told before a restart."""
    target: Target
    application: Application
    prepared: object = None
    """What the engine's ``prepare`` returned."""
