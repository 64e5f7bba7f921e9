"""What it takes to analyse mutants, made once and handed around together."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.engines.core.executor import Executor
from fuzztui.engines.core.isolation import Isolation
from fuzztui.engines.core.journal import Journal
from fuzztui.engines.mu2.oracle import Oracle
from fuzztui.engines.mu2.outside import Outside
from fuzztui.engines.mu2.pipeline import Pipeline
from fuzztui.engines.mu2.runner import Runner
from fuzztui.engines.mu2.schedule import Schedule
from fuzztui.engines.mu2.table import Table
from fuzztui.engines.mu2.watch import Watch
from fuzztui.engines.mutants.program import Program

__all__ = ["Analysis"]


@dataclass(frozen=True, slots=True)
class Analysis:
    """See the modules of the parts' classes."""

    executor: Executor
    program: Program
    table: Table
    runner: Runner
    outside: Outside
    pipeline: Pipeline
    schedule: Schedule
    watch: Watch
    oracle: Oracle
    isolation: Isolation
    journal: Journal
