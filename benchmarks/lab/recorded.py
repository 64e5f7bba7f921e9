"""An engine's run with a record of what it covered when, and of where its time went.

    PYTHON -P recorded.py SPEC RECORD CPU_SECONDS

Runs the worker without the monitor: if the worker dies, there is no record. The parts of the engine
are wrapped, so that engines need no code for this. CPU_SECONDS count from the first trial on, so
that loading the target is not charged (0: as many trials as the spec says). The file RECORD gets
the record as JSON.
Runs under the target's interpreter: the standard library and ``fuzztui.engines`` only.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog
from fuzztui.engines.directory.store import Store
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.feedback import Feedback
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.stages import Stage
from fuzztui.engines.process.worker import work
from fuzztui.engines.spoton.types_file import TYPES

SAMPLES = 50
"""Points of the curves, evenly over the time."""

PARTS = ("mutation", "generation", "testing", "handling")
"""What the paper divides the time into (IV-C)."""

clock = time.process_time


class Meter:
    """CPU seconds by part; the time of a part within another counts for the inner one only."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)
        self.inner = 0.0

    def within(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``call``, with its time counted for ``part``."""
        spent = self.spent

        def timed(*args: Any) -> Any:
            outer, self.inner, began = self.inner, 0.0, clock()
            try:
                return call(*args)
            finally:
                took = clock() - began
                spent[part] += took - self.inner
                self.inner = outer + took

        return timed


class Measured:
    """All stages as one: choosing an entry and mutating it."""

    def __init__(self, stages: Sequence[Stage], meter: Meter) -> None:
        self._stages = stages
        self.propose = meter.within("mutation", self._propose)

    def _propose(self) -> Candidate | None:
        return next(filter(None, (stage.propose() for stage in self._stages)), None)


class Record(Feedback):
    """The record of one run, as a feedback that keeps no input. Ends the run after its time."""

    def __init__(self, context: Context, parts: Parts, seconds: float) -> None:
        self._context, self._coverage = context, parts.coverage
        self._words = context.journal.counters
        self._meter = Meter()
        self._seconds = seconds
        self._began = 0.0
        self._due = self._until = 0.0
        self._resident = 0
        self._cells: list[tuple[str, int, float, str]] = []
        self._curve: list[tuple[float, int, int, int]] = []
        self.found: dict[str, Any] = {}
        """The record, once the time is up."""

    def wrap(self, parts: Parts) -> Parts:
        """Return the parts with measured calls, and with this feedback before the others."""
        executor, form, meter = parts.executor, parts.executor.form, self._meter
        for thing, name, part in (
            (executor, "run", "testing"),
            (executor, "trial", "testing"),
            (executor, "complete", "testing"),
            (form, "build", "generation"),
            (form, "annotate", "generation"),
        ):
            if hasattr(thing, name):
                setattr(thing, name, meter.within(part, getattr(thing, name)))
        before = parts.before

        def begin(candidate: Candidate) -> None:
            self._begin()
            before(candidate)

        def finish() -> None:
            parts.finish()
            self._end(self._words[j.TRIAL])

        return replace(
            parts,
            stages=[Measured(parts.stages, meter)],
            feedbacks=[self, *parts.feedbacks],
            before=begin,
            finish=finish,
        )

    def _begin(self) -> None:
        """Take a sample if one is due, before a trial, which the journal counts already."""
        now, trials = clock(), self._words[j.TRIAL] - 1
        if not self._began:
            self._began = self._due = now
            self._until = now + self._seconds if self._seconds else float("inf")
            self._meter.spent.update(dict.fromkeys(PARTS, 0.0))
            self._resident = _resident_kb()
        if now >= self._due and not self.found:
            self._sample(now, trials)
            step = self._seconds / SAMPLES or 0.1
            self._due += step * ((now - self._due) // step + 1)
        if now >= self._until and not self.found:
            self._end(trials)
            self._words[j.STOP] = j.FINISH

    def _sample(self, now: float, trials: int) -> None:
        watch = self._libraries()
        count = len(watch) if watch is not None else 0
        self._curve.append((round(now - self._began, 3), trials, len(self._cells), count))

    def _libraries(self) -> set[tuple[str, int]] | None:
        for observer in self._context.executor.observers:
            seen = getattr(observer, "seen", None)  # of engines/execute/third_party.py
            if seen is not None:
                return seen  # type: ignore[no-any-return]
        return None

    def _end(self, trials: int) -> None:
        if self.found:
            return
        now, words = clock(), self._words
        took = now - self._began
        self._sample(now, trials)
        spent = self._meter.spent
        spent["handling"] = took - sum(spent[part] for part in PARTS[:-1])
        libraries: dict[str, list[int]] = {}
        for file, line in sorted(self._libraries() or ()):
            libraries.setdefault(_short(file), []).append(line)
        self.found = {
            "trials": trials,
            "cpu_s": round(took, 3),
            "cells": self._cells,
            "curve": self._curve,
            "split": {part: round(seconds, 4) for part, seconds in spent.items()},
            "queue": words[j.CORPUS],
            "outcomes": [words[word] for word in (j.VALID, j.INVALID, j.FAILURES, j.TIMEOUTS)],
            "crashes": words[j.CRASHES],
            "loading_s": round(self._began, 2),
            "resident_kb": self._resident,
            "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "libraries": libraries,
        }

    # ------------------------------------------------------- core's feedback

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """No reasons."""
        return ()

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """There is no news to be lost."""
        return True

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Record which cells a new entry covers for the first time, and when."""
        new = execution.observed & ~self._coverage.seen
        if not new or self.found:
            return
        trial, now = self._words[j.TRIAL], round(clock() - self._began, 3)
        op = _operation(entry.name)
        for at, bits in enumerate(new.to_bytes((new.bit_length() + 7) // 8, "little")):
            if bits:
                self._cells.append((self._name(at), trial, now, op))

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """There are no restarts."""
        return False

    def _name(self, cell: int) -> str:
        for module in self._context.application.table.modules.values():
            at = cell - module.base
            if 0 <= at < len(module.edges):
                edge = module.edges[at]
                return f"{module.name}:{edge.line} {edge.qualname} {edge.kind} #{at}"
        raise AssertionError(f"cell {cell} is of no module")


def _operation(name: str) -> str:
    """What made a queue entry: ``havoc``, ``fresh``, ``typed:datetime.date``."""
    return name.partition("op:")[2].partition(",")[0].partition("+")[0]


def _short(file: str) -> str:
    """The part of the path of a library's file that is the same in any environment."""
    return file.rpartition("-packages/")[2]


def _resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


class Recorded:
    """Stands for an engine's module: builds its parts, and records them."""

    def __init__(self, engine: Any, seconds: float) -> None:
        self._engine, self._seconds = engine, seconds
        self.FORM = getattr(engine, "FORM", GeneratedInput)
        self.record: Record | None = None

    def build(self, context: Context) -> Parts:
        parts = self._engine.build(context)
        self.record = Record(context, parts, self._seconds)
        return self.record.wrap(parts)


def main() -> int:
    spec = read_spec(Path(sys.argv[1]))
    engine = Recorded(importlib.import_module(spec.engine.module), float(sys.argv[3]))
    sys.modules["recorded engine"] = engine  # type: ignore[assignment]
    spec = replace(spec, engine=replace(spec.engine, module="recorded engine"))
    Store(spec.dir, EventLog(spec.dir / "events.jsonl", spec.instance), time.sleep).create()
    status = work(spec, os.getppid())
    if status == 0 and engine.record is not None:
        types = spec.dir / TYPES
        told = json.loads(types.read_text()) if types.exists() else {}
        Path(sys.argv[2]).write_text(json.dumps({**engine.record.found, "types": told}))
    return status


if __name__ == "__main__":
    done = main()
    sys.stdout.flush()
    os._exit(done)  # sys.exit() would wait for the target's threads and run its exit handlers
