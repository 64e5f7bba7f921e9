"""The cells that a corpus covers, under the probes of the ``fuzztui`` that runs this.

    PYTHON -P replayed.py SPEC RECORD CORPUS MARKS

Runs every file of the directory CORPUS once. The file RECORD gets JSON: the cells of all inputs
and of the valid ones, and the cells after each of MARKS (a JSON list of milliseconds, compared
with ``time:`` in the names of queue entries). A corpus without such names has one figure only.
Runs under the target's interpreter: the standard library and ``fuzztui.engines`` only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import sys
from pathlib import Path

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.execute.loading import load
from fuzztui.engines.instrument.edges import EdgeTable


def _time(file: Path) -> float:
    """Milliseconds after which the entry was saved; 0 for a seed and without ``time:``."""
    at = re.search(r",time:(\d+)", file.name)
    return float(at[1]) if at else 0.0


def main() -> None:
    spec = read_spec(Path(sys.argv[1]))
    marks = [float(mark) for mark in json.loads(sys.argv[4])]
    files = sorted((f for f in Path(sys.argv[3]).iterdir() if f.is_file()), key=_time)
    inputs = [(_time(file), file.read_bytes()) for file in files]
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (spec.target.memory_bytes, hard))
    table = EdgeTable()
    # A generator that needs more choices than an input has draws zeros, as under atheris.
    executor = load(spec, folder=spec.dir, table=table, draw=bytes).executor
    cells = [(m.name, e.qualname, e.line, e.kind) for m in table.modules.values()
             for e in m.edges]  # fmt: skip
    digest = hashlib.sha256(json.dumps(sorted(cells)).encode()).hexdigest()[:12]
    executor.guard.arm()
    coverage = executor.coverage
    seen = valid = 0
    over: list[int] = []
    for at, data in inputs:
        while len(over) < len(marks) and at > marks[len(over)]:
            over.append(coverage.count(seen))
        execution = executor.run(data)
        seen |= execution.observed
        if execution.outcome is Outcome.SUCCESS:
            valid |= execution.observed
    over += [coverage.count(seen)] * (len(marks) - len(over))
    found = {"inputs": len(inputs), "cells": coverage.count(seen), "valid": coverage.count(valid),
             "over": over, "of": table.reachable, "digest": digest}  # fmt: skip
    Path(sys.argv[2]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
    os._exit(0)  # sys.exit() would wait for the target's threads and run its exit handlers
