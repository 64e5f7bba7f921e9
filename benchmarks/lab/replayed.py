"""The cells that a corpus covers, under the probes of the ``fuzztui`` that runs this.

    PYTHON -P replayed.py SPEC RECORD ENTRIES MARKS

Runs every file of the list ENTRIES (JSON: pairs of CPU seconds and a path, in the order of time)
once. The file RECORD gets JSON: the cells of all inputs and of the valid ones, and the cells after
each of MARKS (a JSON list of CPU seconds). Runs under the target's interpreter: the standard
library and ``fuzztui.engines`` only.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.execute.loading import load
from fuzztui.engines.instrument.edges import EdgeTable


class Replay:
    """What the arguments of this program, and of ``branches.py``, ask for."""

    def __init__(self) -> None:
        """Read the arguments, and limit the memory as an engine does."""
        spec, record, entries, marks = sys.argv[1:]
        self.spec = read_spec(Path(spec))
        self._record = Path(record)
        self._marks: list[float] = json.loads(marks)
        listed = json.loads(Path(entries).read_text())
        self._inputs = [(at, Path(file).read_bytes()) for at, file in listed]
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (self.spec.target.memory_bytes, hard))

    def run(self, one: Callable[[bytes], object], count: Callable[[], int]) -> list[int]:
        """Call ``one`` with each input. Returns the counts after each mark, and that of the end."""
        over: list[int] = []
        for at, data in self._inputs:
            while len(over) < len(self._marks) and at > self._marks[len(over)]:
                over.append(count())
            one(data)
        last = count()
        return over + [last] * (len(self._marks) - len(over)) + [last]

    def write(self, **found: Any) -> None:
        """Write the record."""
        self._record.write_text(json.dumps({"inputs": len(self._inputs), **found}))


def main() -> None:
    replay = Replay()
    table = EdgeTable()
    # A generator that needs more choices than an input has draws zeros, as under atheris.
    executor = load(replay.spec, folder=replay.spec.dir, table=table, draw=bytes).executor
    cells = [(m.name, e.qualname, e.line, e.kind) for m in table.modules.values()
             for e in m.edges]  # fmt: skip
    digest = hashlib.sha256(json.dumps(sorted(cells)).encode()).hexdigest()[:12]
    executor.guard.arm()
    coverage = executor.coverage
    seen = valid = 0

    def one(data: bytes) -> None:
        nonlocal seen, valid
        execution = executor.run(data)
        seen |= execution.observed
        if execution.outcome is Outcome.SUCCESS:
            valid |= execution.observed

    *over, found = replay.run(one, lambda: coverage.count(seen))
    replay.write(
        cells=found, valid=coverage.count(valid), over=over, of=table.reachable, digest=digest
    )


if __name__ == "__main__":
    main()
    os._exit(0)  # sys.exit() would wait for the target's threads and run its exit handlers
