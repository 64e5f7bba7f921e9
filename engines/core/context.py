"""What an engine is given to build its parts from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.engines.core.executor import Executor
from fuzztui.engines.core.importer import Application
from fuzztui.engines.core.journal import Journal
from fuzztui.engines.core.report import EventLog, Told
from fuzztui.engines.core.spec import Spec
from fuzztui.engines.core.stages import SeedFile
from fuzztui.engines.core.store import Store
from fuzztui.engines.core.target import Target

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
    journal: Journal
    store: Store
    log: EventLog
    told: Told
    """What was told before a restart."""
    target: Target
    application: Application
    prepared: object = None
    """What the engine's ``prepare`` returned."""
