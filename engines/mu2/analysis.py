"""The objects that mutation analysis needs, created once and passed around together."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.isolation import Isolation
from fuzztui.engines.mu2.isolated import IsolatedRunner
from fuzztui.engines.mu2.kill_criterion import KillCriterion
from fuzztui.engines.mu2.pipeline import Pipeline
from fuzztui.engines.mu2.probe_selection import ProbeSelection
from fuzztui.engines.mu2.runner import Runner
from fuzztui.engines.mu2.schedule import MutantSchedule
from fuzztui.engines.mu2.table import MutantTable
from fuzztui.engines.mutants.program import Program


@dataclass(frozen=True, slots=True)
class Analysis:
    """The parts of mutation analysis; each part's class describes it."""

    executor: Executor
    program: Program
    table: MutantTable
    runner: Runner
    isolated: IsolatedRunner
    pipeline: Pipeline
    schedule: MutantSchedule
    probes: ProbeSelection
    criterion: KillCriterion
    isolation: Isolation
    journal: TrialJournal
