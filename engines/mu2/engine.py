"""mu2 (Laybourn et al., "Guiding Greybox Fuzzing with Mutation Testing", ICSE 2023), for Python.

Algorithm 2: zest that also keeps an input which kills a mutant that no kept input has killed. The
engine therefore consists of zest's parts, one more feedback and one more stage.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import Stopping
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.forks import ChildHost
from fuzztui.engines.execute.isolation import Isolation, read_index, write_index
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import CorpusEntry, SteerError
from fuzztui.engines.loop.loop import Parts
from fuzztui.engines.loop.suite import SuiteCorpus
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
from fuzztui.engines.mu2.set_ups import follow_set_ups, reloader
from fuzztui.engines.mu2.settled import Settled
from fuzztui.engines.mu2.steering import MutantSteering
from fuzztui.engines.mu2.suspect_check import SuspectCheck
from fuzztui.engines.mu2.table import INVALID, KILLED, MutantTable
from fuzztui.engines.mutants.harness_modules import harness_modules
from fuzztui.engines.mutants.lasting_state import TOO_LARGE
from fuzztui.engines.mutants.late_modules import first_inputs, import_late_modules
from fuzztui.engines.mutants.listing import left_out, shard_of
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import Program
from fuzztui.engines.zest import engine as zest
from fuzztui.wire.commands import Command, WeighProperty
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
    return Program(
        application, operators, tuple(options.get("mutate", ())), shard_of(spec), left_out(spec)
    )


def build(context: Context) -> Parts:
    """The parts of a mu2 engine."""
    spec, rng, journal, log = context.spec, context.rng, context.journal, context.log
    executor, program = context.executor, context.prepared
    assert isinstance(program, Program)
    suite = context.target.suite
    base = zest.build(context, program.census)
    options = spec.engine.options
    table = MutantTable(log, journal, context.reported, spec.equivalent)
    isolation = Isolation.load(spec.dir)
    criterion = KillCriterion(
        options.get("oracle", "differential"),
        context.target.compare,
        executor.guarded,
        rejections=suite is None,
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
    if suite is not None:
        follow_set_ups(suite, program, runner.put_back)
        host = replace(host, before=suite.leave)
    again = reloader(program, executor, context.target, spec.target)
    isolated = IsolatedRunner(
        executor,
        program,
        criterion,
        again,
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
    properties = base.feedbacks[0]
    of_suite: dict[str, Any] = {}
    if suite is not None and isinstance(properties, SuiteCorpus):
        of_suite = {
            "group_of": properties.key_of,
            "turn": properties.turn,
            "rest": properties.is_rest,
            "leave": suite.leave,
        }
    backlog = Backlog(
        parts,
        settled=settled,
        corpus=base.corpus,
        scheduler=base.scheduler,
        instance=spec.instance,
        budget=lambda: PassBudget.of(
            options.get("exact_budget"), spec.budget_trials, journal.counters
        ),
        **of_suite,
    )
    if isinstance(properties, SuiteCorpus):
        backlog.on_begin, backlog.on_work = properties.begin, properties.count_work
        table.property_of = partial(_property_of, properties, spec.instance)
    feedback = KillFeedback(parts, base.feedbacks[0], backlog)
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

    import_late_modules(spec, executor, context.application, still_loading, suite)
    on_modules()
    if program.lasting is not None and program.lasting.left_out:
        log.message("warning", TOO_LARGE)
    choices = executor.form.choices
    inputs = first_inputs(spec, choices=choices, most=MAX_INPUTS, suite=suite)
    checked = [(f"input {data[:_SHOWN]!r}", data) for data in inputs]
    loading_host = replace(host, meanwhile=still_loading)
    check = RestorationCheck(executor, program, criterion, again, loading_host)
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
    steering = MutantSteering(table, backlog)

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

    return replace(
        base,
        stages=[first, Analyse(backlog), *others],
        feedbacks=[*base.feedbacks, feedback],
        before=before,
        # Runs of mutants cleared the caches before the entry was saved; coverage is equal again.
        before_recall=program.clear_caches,
        tick=tick,
        finish=finish,
        on_modules=on_modules,
        connect=connect,
        execute=execute,
    )


def _property_of(properties: SuiteCorpus, instance: str, killer: str) -> str:
    """The property of an entry ("main/12") of this instance; empty if there is none."""
    of, _, number = killer.rpartition("/")
    return properties.name_of(int(number)) if of == instance and number.isdecimal() else ""


def _code_of(context: Context) -> Iterator[str]:
    """Texts that change when the code under test or the harness changes."""
    for name, module in sorted(context.application.table.modules.items()):
        yield f"{name} {module.sha}"
    target = context.spec.target
    references = (target.function, target.generator, target.compare)
    files = {Path(reference.rpartition(":")[0] or reference) for reference in references}
    files |= {Path(str(sys.modules[name].__file__)) for name in harness_modules(target)}
    for file in sorted(files):
        if file.suffix == ".py":
            with contextlib.suppress(OSError):
                yield f"{file} {hashlib.sha256(file.read_bytes()).hexdigest()}"
