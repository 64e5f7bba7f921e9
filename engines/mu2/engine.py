"""mu2 (Laybourn et al., "Guiding Greybox Fuzzing with Mutation Testing", ICSE 2023), for Python.

Algorithm 2: zest that also keeps an input which kills a mutant that no kept input has killed. The
engine therefore consists of zest's parts, one more feedback and one more stage.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from fuzztui.engines.base.errors import Stopping
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.forks import ChildHost
from fuzztui.engines.execute.isolation import Isolation, read_index, write_index
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.loop import Parts
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.exact_pass import PassBudget
from fuzztui.engines.mu2.feedback import KillFeedback
from fuzztui.engines.mu2.isolated import IsolatedRunner
from fuzztui.engines.mu2.kill_criterion import KillCriterion
from fuzztui.engines.mu2.pipeline import Pipeline
from fuzztui.engines.mu2.probe_selection import ProbeSelection
from fuzztui.engines.mu2.report import MutationReport
from fuzztui.engines.mu2.restoration import MAX_INPUTS, NOT_JUDGED, RestorationCheck
from fuzztui.engines.mu2.runner import Runner
from fuzztui.engines.mu2.schedule import AdaptiveSchedule, FullSchedule
from fuzztui.engines.mu2.settled import Settled
from fuzztui.engines.mu2.steering import MutantSteering
from fuzztui.engines.mu2.suspect_check import SuspectCheck
from fuzztui.engines.mu2.table import INVALID, KILLED, MutantTable
from fuzztui.engines.mutants.lasting_state import TOO_LARGE
from fuzztui.engines.mutants.late_modules import first_inputs, import_late_modules
from fuzztui.engines.mutants.listing import shard_of
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import Program, PythonMutant, reload
from fuzztui.engines.zest import engine as zest
from fuzztui.wire.events import MutantsShard

_SHOWN: Final = 40
"""Bytes of an input that a warning shows."""
SILENT_LIMITS: Final = 5
"""Time limits for which a child process may be silent: a single run of a mutant is shorter."""


class Analyse:
    """The stage that runs mutants on saved inputs; it proposes no candidates."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog

    def propose(self) -> Candidate | None:
        """Do a step of the backlog's work. Always returns None."""
        self._backlog.work()
        return None


def prepare(spec: Spec, application: Application) -> Program:
    """Prepare the application for mutants, before its modules are loaded."""
    options = spec.engine.options
    operators = tuple(options.get("operators") or DEFAULT_OPERATORS)
    return Program(application, operators, tuple(options.get("mutate", ())), shard_of(spec))


def build(context: Context) -> Parts:
    """The parts of a mu2 engine."""
    spec, rng, journal, log = context.spec, context.rng, context.journal, context.log
    executor, program = context.executor, context.prepared
    assert isinstance(program, Program)
    base = zest.build(context, program.census)
    options = spec.engine.options
    table = MutantTable(log, journal, context.reported, spec.equivalent)
    isolation = Isolation.load(spec.dir)
    criterion = KillCriterion(
        options.get("oracle", "differential"),
        context.target.compare,
        executor.guarded,
    )
    # The worker's own limit of memory holds for its children.
    host = replace(ChildHost.of(spec.target, "", limits=SILENT_LIMITS), memory_bytes=0)

    def stopping() -> None:
        if journal.counters[j.STOP] == j.STOP_NOW:
            raise Stopping

    def still_loading() -> None:
        journal.counters[j.STARTED] = time.monotonic_ns()  # else the monitor reports a hang
        stopping()

    runner = Runner(
        executor=executor,
        program=program,
        criterion=criterion,
        journal=journal,
        table=table,
        isolation=isolation,
    )
    isolated = IsolatedRunner(
        executor,
        program,
        criterion,
        _reload(context, program),
        replace(host, meanwhile=stopping),
        import_s=context.target.import_s,
        import_periods=executor.guard.spent,
    )
    parts = Analysis(
        executor=executor,
        program=program,
        table=table,
        runner=runner,
        isolated=isolated,
        pipeline=Pipeline(table, rng, log.message),
        schedule=FullSchedule() if options.get("schedule") == "full" else AdaptiveSchedule(rng),
        probes=ProbeSelection(program, table),
        criterion=criterion,
        isolation=isolation,
        journal=journal,
    )
    executor.observers.append(parts.probes)
    settled = Settled(spec.dir)
    backlog = Backlog(
        parts,
        settled=settled,
        corpus=base.corpus,
        scheduler=base.scheduler,
        instance=spec.instance,
        budget=lambda: PassBudget.of(
            options.get("exact_budget"), spec.budget_trials, journal.counters
        ),
    )
    feedback = KillFeedback(parts, base.coverage, backlog)
    report = MutationReport(parts, backlog, log, exact=bool(options.get("exact", True)))
    known = dict(read_index(spec.dir))

    def found() -> None:
        """Add the mutants of newly loaded modules to the table."""
        fresh = program.scan()
        if fresh:
            if (shard := program.shard) is not None:
                whole = program.program_sum
                log.write(
                    MutantsShard(log.instance, shard.number, shard.of, whole.mutants, whole.hex)
                )
            table.add(fresh, {m.id for m in fresh if known.get(m.id, m.hash) != m.hash})
            table.isolate(isolation.outside)
            ids = [(m.id, m.hash) for m in program.mutants]
            # Keep hashes of modules that load late, even if the next worker dies before that.
            late = [pair for pair in known.items() if pair[0] not in program.by_id]
            write_index(spec.dir, ids + late)

    def check_corpus() -> None:
        """Isolate the mutants of code that an entry reaches only in a process of its own."""
        entries = [(f"entry {e.id}", e.data) for e in base.corpus.entries]
        for warning in check.run(entries, fresh=False):
            log.message("warning", warning)
        rows = [row for row in table.rows if row.mutant.unrestored and not row.isolated]
        if rows:
            killed = [row for row in rows if row.base == KILLED]
            backlog.credit([row.killer for row in killed], -1)
            table.requeue(killed)
            table.isolate([row.id for row in rows])
            backlog.reopen([row.mutant.index for row in rows])

    backlog.on_exact = check_corpus

    def on_modules() -> None:
        found()
        program.remember(spec.target)

    def connect(describe: Callable[[CorpusEntry], None], pulse: Callable[[], bool]) -> None:
        backlog.on_kills, backlog.pulse = describe, pulse

    import_late_modules(spec, executor, context.application, still_loading)
    on_modules()
    if program.lasting is not None and program.lasting.left_out:
        log.message("warning", TOO_LARGE)
    inputs = first_inputs(spec, choices=executor.form.choices, most=MAX_INPUTS)
    checked = [(f"input {data[:_SHOWN]!r}", data) for data in inputs]
    loading_host = replace(host, meanwhile=still_loading)
    check = RestorationCheck(executor, program, criterion, _reload(context, program), loading_host)
    for warning in check.run(checked):
        log.message("warning", warning)
    table.isolate([m.id for m in program.mutants if m.unrestored])
    for m in program.mutants:
        if m.unit is not None and m.unit.unjudged and table.rows[m.index].base != INVALID:
            table.invalidate(m.index, NOT_JUDGED)
    settled.load((f"{m.id} {m.hash}" for m in program.mutants), _code_of(context))
    SuspectCheck(executor, program, criterion, loading_host).run(isolation, log.message)
    table.isolate(isolation.outside)
    first, *others = base.stages
    return replace(
        base,
        stages=[first, Analyse(backlog), *others],
        feedbacks=[*base.feedbacks, feedback],
        before=feedback.before,
        # Runs of mutants cleared the caches before the entry was saved; coverage is equal again.
        before_recall=program.clear_caches,
        tick=report.tick,
        finish=report.finish,
        on_modules=on_modules,
        connect=connect,
        execute=MutantSteering(table, backlog).execute,
    )


def _code_of(context: Context) -> Iterator[str]:
    """Texts that change when the code under test or the harness changes."""
    for name, module in sorted(context.application.table.modules.items()):
        yield f"{name} {module.sha}"
    target = context.spec.target
    for reference in (target.function, target.generator, target.compare):
        file = Path(reference.rpartition(":")[0] or reference)
        if file.suffix == ".py":
            with contextlib.suppress(OSError):
                yield f"{file} {hashlib.sha256(file.read_bytes()).hexdigest()}"


def _reload(context: Context, program: Program) -> Callable[[PythonMutant | None], Executor]:
    def reimport(mutant: PythonMutant | None) -> Executor:
        target = reload(program, context.spec.target, mutant)
        return context.executor.like(target.function, target.expected)

    return reimport
