"""The worker: the process that loads the target and runs the fuzzing loop; may die at any time."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from resource import getrlimit
from typing import Final, TextIO

from fuzztui.engines.base.errors import (
    CANNOT_START,
    LIMITED,
    RECYCLE,
    RESTART,
    CannotStart,
    Limited,
    RecycleWorker,
    RestartWorker,
    Stopping,
)
from fuzztui.engines.base.spec import TRACE, TRACE_SIGNAL, Spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.rescue import Unsafe
from fuzztui.engines.directory.store import Store
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.limits import high_copy
from fuzztui.engines.execute.loading import load
from fuzztui.engines.execute.third_party import KEPT, Watch, library_files, third_party
from fuzztui.engines.inputs.dictionary import Constants, read_dictionary, tokens_of
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.instrument.counters import trace_crashes
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.lines import LineRecorder
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.line_reports import LineReports
from fuzztui.engines.loop.loop import Loop
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.stages import BUILTIN, list_seeds

_PR_SET_PDEATHSIG: Final = 1


class WorkerLog:
    """Writes the worker's messages to ``worker.log``, even if the target replaces stderr."""

    def __init__(self, journal: TrialJournal) -> None:
        self._fd, self._journal = high_copy(2), journal

    def write(self, text: str) -> None:
        """Write one or more lines. The monitor writes them if this process cannot."""
        line = text.rstrip("\n") + "\n"
        data = line.encode("utf-8", "backslashreplace")
        try:
            written = os.write(self._fd, data)
        except OSError:  # RLIMIT_FSIZE
            written = 0
        if written < len(data):
            self._journal.leave_message(line)


def work(spec: Spec, parent: int) -> int:
    """Fuzz until the budget is used up or a stop is requested. Returns the exit status.

    ``parent``: pid of the monitor; the worker is killed when the monitor ends.
    """
    die_with(parent)
    journal = TrialJournal(spec.dir / ".cur_input", spec.engine.max_size)
    worker_log = WorkerLog(journal)
    journal.counters[j.PHASE] = j.LOADING
    log = EventLog(spec.dir / "events.jsonl", spec.instance)
    try:
        loop = build(spec, journal, log)
        gc.collect()
        gc.freeze()  # collections need not examine the loaded modules
        journal.counters[j.PHASE] = j.IDLE
        loop.run()
    except CannotStart as e:
        if e.detail:
            worker_log.write(e.detail)
        worker_log.write(f"fuzztui: {e}")
        log.message("error", str(e))
        journal.counters[j.PHASE] = j.REFUSED
        return CANNOT_START
    except RestartWorker:
        return RESTART
    except RecycleWorker:
        return RECYCLE  # by the phase, the monitor decides whether to repeat the trial
    except Stopping:
        return 0  # the phase stays: the next start runs an input that was not saved
    except Limited as e:
        journal.counters[j.LIMIT] = e.number
        journal.counters[j.LIMIT_VALUE] = getrlimit(e.number)[1]
        return LIMITED
    except BaseException as e:
        _confide(journal, e)
        return 1
    journal.counters[j.PHASE] = j.ENDED
    return 0


def _confide(journal: TrialJournal, error: BaseException) -> None:
    """Leave the traceback to the monitor, because the target may have replaced ``os.write``."""
    try:
        text = "".join(traceback.format_exception(error))
    except BaseException:
        text = f"{type(error).__name__} (its traceback cannot be formatted)\n"
    journal.leave_message(text)


def build(spec: Spec, journal: TrialJournal, log: EventLog) -> Loop:
    """Load the target and build the loop of an instance, ready to run trials."""
    fixtures: list[Fixture] = []

    def wait(seconds: float) -> None:
        for fixture in fixtures:
            fixture.check_limits()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if journal.counters[j.STOP]:
                raise Stopping
            time.sleep(0.05)

    store = Store(spec.dir, log, wait)
    limit_resources(spec)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the monitor sets STOP; SIG_IGN would be inherited
    trace = _trace(spec.dir)
    constants = Constants()
    engine = importlib.import_module(spec.engine.module)
    recorder = LineRecorder()

    def prepare(application: Application) -> object:
        application.lines = recorder
        if spec.engine.constants:
            application.on_constants = constants.add
        return engine.prepare(spec, application) if hasattr(engine, "prepare") else None

    rng = random.Random(f"{spec.seed}/{spec.instance}/{journal.counters[j.TRIAL]}")
    loaded = load(
        spec,
        folder=spec.dir / ".scratch",
        table=EdgeTable(spec.dir / "edges.json"),
        draw=rng.randbytes,
        on_fresh=journal.extend,
        generated=getattr(engine, "FORM", GeneratedInput),
        prepare=prepare,
        output=spec.dir / "target.log" if spec.target.output == "log" else None,
    )
    executor, table = loaded.executor, loaded.table
    trace_crashes(trace.fileno())
    fixtures.append(executor.fixture)
    if executor.message_oracle is not None:
        executor.message_oracle.log_message = log.message
    for name in loaded.application.plain:
        log.message(
            "warning", f"module {name} has no coverage: too deeply nested to be instrumented"
        )
    table.save(store.write)

    reported = read_reported(spec.dir / "events.jsonl")
    listed = [t for file in spec.engine.dictionary for t in read_dictionary(Path(file))]
    tokens: list[bytes] = []
    learnt: list[bytes] = []

    def update_tokens() -> None:
        """Replace the tokens in place, because the mutators hold the list."""
        tokens[:] = dict.fromkeys(listed + tokens_of(list(constants.found.values())) + learnt)
        journal.counters[j.TOKENS] = len(tokens)

    def learn(more: Sequence[bytes]) -> None:
        learnt.extend(more)
        update_tokens()

    update_tokens()
    seeds = list_seeds(spec.engine.seeds, spec.engine.max_size, log.message)
    if not seeds and spec.engine.seeds:
        log.message("warning", "engine.seeds contains no file; starting from short built-in inputs")
    if not seeds and not executor.form.choices:
        seeds = list(BUILTIN)
    context = Context(
        spec=spec,
        rng=rng,
        executor=executor,
        tokens=tokens,
        learn=learn,
        seeds=seeds,
        text=loaded.target.text,
        journal=journal,
        store=store,
        log=log,
        reported=reported,
        unsafe=Unsafe(spec.dir).load(),
        target=loaded.target,
        application=loaded.application,
        prepared=loaded.prepared,
    )
    parts: Parts = engine.build(context)
    update_tokens()  # an engine may have imported more modules
    table.save(store.write)

    watch = _watch_libraries(context) if spec.engine.third_party else None

    def on_modules() -> None:
        update_tokens()
        parts.on_modules()

    lines = LineReports(loaded.application, recorder, log, reported)
    lines.on_modules()
    third_party_lines = watch.count if watch else lambda: 0
    loop = Loop(context, parts, lines, on_modules=on_modules, third_party=third_party_lines)
    executor.guard.arm()
    loop.reruns.rebuild()
    assert not trace.closed
    return loop


def _watch_libraries(context: Context) -> Watch:
    target = context.target
    users = (target.function, target.generator, target.against)
    is_library = library_files(context.application.table.files, users)
    watch = third_party(is_library, context.spec.dir / KEPT)
    context.executor.observers.append(watch)
    return watch


def limit_resources(spec: Spec) -> None:
    """Limit the address space to ``target.memory_bytes`` (0: no limit), and disable core files."""
    memory = spec.target.memory_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if memory > 0:
        if hard != resource.RLIM_INFINITY:
            memory = min(memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _trace(directory: Path) -> TextIO:
    """Have the Python stack written to ``.trace`` on fatal signals and on the monitor's signal."""
    trace = (directory / TRACE).open("w")
    high = high_copy(trace.fileno())
    trace.close()
    kept = os.fdopen(high, "w")
    faulthandler.enable(kept, all_threads=False)
    signal.signal(TRACE_SIGNAL, signal.SIG_DFL)  # the chained handler: ends the process
    faulthandler.register(TRACE_SIGNAL, kept, all_threads=False, chain=True)
    _KEPT.append(kept)
    return kept


_KEPT: list[TextIO] = []
"""Keeps the file open, which faulthandler knows by its descriptor only."""


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)  # the parent died before prctl was called
