"""mu2 (Laybourn et al., "Guiding Greybox Fuzzing with Mutation Testing", ICSE 2023), for Python.

Algorithm 2: zest that also keeps an input which kills a mutant that no kept input has killed. The
engine therefore consists of zest's parts, one more feedback and one more stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from fuzztui.engines.base.errors import Stopping
from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.forks import ChildHost
from fuzztui.engines.execute.isolation import Isolation, read_index, write_index
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import CorpusEntry, SteerError
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.suite import SuiteCorpus
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.checks import Checks, code_of
from fuzztui.engines.mu2.exact_pass import PassBudget
from fuzztui.engines.mu2.feedback import KillFeedback
from fuzztui.engines.mu2.isolated import IsolatedRunner, Reload
from fuzztui.engines.mu2.kill_criterion import KillCriterion
from fuzztui.engines.mu2.mutant_executor import MutantExecutor
from fuzztui.engines.mu2.pipeline import Pipeline
from fuzztui.engines.mu2.probe_selection import ProbeSelection
from fuzztui.engines.mu2.report import MutationReport
from fuzztui.engines.mu2.runner import Runner
from fuzztui.engines.mu2.schedule import WARM_UP, AdaptiveSchedule, MutantSchedule
from fuzztui.engines.mu2.set_ups import follow_set_ups, reloader
from fuzztui.engines.mu2.settled import Settled
from fuzztui.engines.mu2.steering import MutantSteering
from fuzztui.engines.mu2.table import MutantTable
from fuzztui.engines.mutants.late_modules import import_late_modules
from fuzztui.engines.mutants.listing import program_of
from fuzztui.engines.mutants.program import Program
from fuzztui.engines.zest import engine as zest
from fuzztui.kernel.wire.commands import Command, WeighProperty
from fuzztui.kernel.wire.events import MutantsShard

SILENT_LIMITS: Final = 5
"""Time limits for which a child process may be silent: a single run of a mutant is shorter."""


_FIRST_NS: Final = 2_000_000_000
"""Nanoseconds that mutants may take in any case, so that the first kills are found at once."""


prepare = program_of
"""Prepares the application for mutants, before its modules are loaded."""


def build(context: Context) -> Parts:
    """The parts of a mu2 engine."""
    program = context.prepared
    assert isinstance(program, Program)
    base = zest.build(context, program.census)
    spec, suite = context.spec, context.target.suite
    counters = context.journal.counters

    def stopping() -> None:
        """Called now and then by long work: raises ``Stopping`` if a stop is requested."""
        if counters[j.STOP] == j.STOP_NOW:
            raise Stopping

    def still_loading() -> None:
        """As :func:`stopping`, before the first trial: also shows the monitor that work goes on."""
        counters[j.STARTED] = time.monotonic_ns()  # else the monitor reports a hang
        stopping()

    again = reloader(program, context.executor, context.target, spec.target)
    # The worker's own limit of memory holds for its children.
    host = replace(ChildHost.of(spec.target, "", limits=SILENT_LIMITS), memory_bytes=0)
    if suite is not None:
        host = replace(host, before=suite.leave)
    parts = _analysis(context, program, again, replace(host, meanwhile=stopping))
    context.executor.observers.append(parts.probes)
    settled = Settled(spec.dir)
    backlog = _backlog(context, parts, base, settled)
    feedback = KillFeedback(parts, base.feedbacks[0], backlog)
    exact = bool(spec.engine.options.get("exact", True))
    report = MutationReport(parts, backlog, context.log, exact=exact)  # its time begins here
    known = dict(read_index(spec.dir))
    loading_host = replace(host, meanwhile=still_loading)
    checks = Checks(context, parts, again, loading_host)
    backlog.on_exact = lambda: checks.check_corpus(base.corpus, backlog)

    def on_modules() -> None:
        _add_new_mutants(context, parts, known)
        program.remember(spec.target)

    import_late_modules(spec, context.executor, context.application, still_loading, suite)
    on_modules()
    checks.check_inputs()
    settled.load((f"{m.id} {m.hash}" for m in program.mutants), code_of(context))
    checks.check_suspects()
    steering = MutantSteering(parts.table, backlog)
    connected = _connected(base, backlog, feedback=feedback, report=report, steering=steering)
    # Runs of mutants cleared the caches before the entry was saved; coverage is equal again.
    connected.before_recall = program.clear_caches
    connected.on_modules = on_modules
    return connected


def _add_new_mutants(context: Context, parts: Analysis, known: Mapping[str, str]) -> None:
    """Add the mutants of newly loaded modules, also of late imports, to the table.

    ``known``: the index of earlier workers, hashes by mutant id; it is written again.
    """
    program, table, log = parts.program, parts.table, context.log
    fresh = program.scan()
    table.announce(program.excluded)
    if not fresh:
        return
    if (shard := program.shard) is not None:
        whole = program.program_sum
        log.write(MutantsShard(log.instance, shard.number, shard.of, whole.mutants, whole.hex))
    table.add(fresh, {m.id for m in fresh if known.get(m.id, m.hash) != m.hash})
    table.isolate(parts.isolation.outside)
    ids = [(m.id, m.hash) for m in program.mutants]
    # Keep hashes of modules that load late, even if the next worker dies before that.
    late = [pair for pair in known.items() if pair[0] not in program.by_id]
    write_index(context.spec.dir, ids + late)


def _analysis(context: Context, program: Program, again: Reload, host: ChildHost) -> Analysis:
    """Return the parts that make, choose and run mutants; ``host`` runs isolated ones."""
    spec, executor, journal = context.spec, context.executor, context.journal
    options, suite = spec.engine.options, context.target.suite
    table = MutantTable(context.log, journal, context.reported, spec.equivalent)
    isolation = Isolation.load(spec.dir)
    criterion = KillCriterion(
        options.get("oracle", "differential"),
        context.target.compare,
        executor.guarded,
        rejections=suite is None,
    )
    runner = Runner(
        executor=executor,
        program=program,
        criterion=criterion,
        journal=journal,
        table=table,
        isolation=isolation,
    )
    if suite is not None:
        follow_set_ups(suite, program, runner.put_back)
    isolated = IsolatedRunner(
        MutantExecutor(executor, program, criterion),
        again,
        host,
        import_s=context.target.import_s,
        import_periods=executor.guard.spent,
    )
    rng, began = context.rng, time.perf_counter_ns()
    warm_up = min(WARM_UP, spec.budget_trials // 10) if spec.budget_trials else WARM_UP

    def used() -> float:
        if spec.budget_trials:
            return 0.0  # the same seed repeats the run
        return runner.ns / (time.perf_counter_ns() - began + _FIRST_NS)

    return Analysis(
        executor=executor,
        program=program,
        table=table,
        runner=runner,
        isolated=isolated,
        pipeline=Pipeline(table, rng, context.log.message),
        schedule=MutantSchedule()
        if options.get("schedule") == "full"
        else AdaptiveSchedule(rng, used, warm_up - journal.counters[j.TRIAL]),
        probes=ProbeSelection(program, table),
        criterion=criterion,
        isolation=isolation,
        journal=journal,
    )


def _backlog(context: Context, parts: Analysis, base: Parts, settled: Settled) -> Backlog:
    """Return the backlog of saved inputs; for a suite, it follows the turns of the properties."""
    spec, first = context.spec, base.feedbacks[0]
    properties = first if isinstance(first, SuiteCorpus) else None
    if properties is not None:
        parts.table.property_of = partial(_property_of, properties, spec.instance)
    return Backlog(
        parts,
        settled=settled,
        corpus=base.corpus,
        scheduler=base.scheduler,
        instance=spec.instance,
        budget=lambda: PassBudget.of(
            spec.engine.options.get("exact_budget"), spec.budget_trials, parts.journal.counters
        ),
        properties=properties,
    )


def _connected(
    base: Parts,
    backlog: Backlog,
    *,
    feedback: KillFeedback,
    report: MutationReport,
    steering: MutantSteering,
) -> Parts:
    """Return zest's parts with those of mutation analysis added to them."""

    def connect(describe: Callable[[CorpusEntry], None], pulse: Callable[[], bool]) -> None:
        backlog.on_kills, backlog.pulse = describe, pulse

    def before(candidate: Candidate) -> None:
        base.before(candidate)
        feedback.before(candidate)

    def tick() -> None:
        base.tick()
        report.tick()

    def finish() -> None:
        report.finish()
        base.finish()

    def execute(command: Command) -> str:
        if isinstance(command, WeighProperty):
            if base.execute is None:
                raise SteerError("this campaign has one target, not a suite")
            return base.execute(command)
        return steering.execute(command)

    first, *others = base.stages
    return replace(
        base,
        stages=[first, backlog, *others],
        feedbacks=[*base.feedbacks, feedback],
        whole=feedback.whole,
        before=before,
        tick=tick,
        finish=finish,
        connect=connect,
        execute=execute,
    )


def _property_of(properties: SuiteCorpus, instance: str, killer: str) -> str:
    """The property of an entry ("main/12") of this instance; empty if there is none."""
    of, _, number = killer.rpartition("/")
    return properties.name_of(int(number)) if of == instance and number.isdecimal() else ""
