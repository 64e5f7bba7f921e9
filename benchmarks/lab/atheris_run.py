"""A subject under atheris, with the modules instrumented that zest instruments.

    PYTHON -P atheris_run.py SPEC RECORD CPU_SECONDS [OPTION of libFuzzer ...] CORPUS [SEEDS]

Ends when the process has used CPU_SECONDS, loading included, as ``budget_cpu_s`` of spec.json
does; the file RECORD gets the number of trials as JSON. As under zest, every exception is caught
and a trial ends after ``target.timeout_s`` (here: of CPU time). With a generator, the bytes are
its choices; choices that are missing are zeros, as in atheris' ``FuzzedDataProvider``.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import atheris
from atheris.import_hook import AtherisMetaPathFinder

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.loading import form_of
from fuzztui.engines.instrument.target import load_target


class _TimeoutError(BaseException):
    """The trial took too long."""


def _expired(*_: object) -> None:
    raise _TimeoutError


def main() -> None:
    spec = read_spec(Path(sys.argv[1]))
    record, seconds = Path(sys.argv[2]), float(sys.argv[3])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (spec.target.memory_bytes, hard))
    include = spec.target.include
    find = AtherisMetaPathFinder.find_spec

    def find_included(self: Any, name: str, *args: Any, **keys: Any) -> Any:
        # atheris looks at the top-level package only: it would instrument all of networkx.
        if not any(name == known or name.startswith(f"{known}.") for known in include):
            return None
        return find(self, name, *args, **keys)

    AtherisMetaPathFinder.find_spec = find_included
    with atheris.instrument_imports(include=list(include)):
        target = load_target(spec.target, None)
    function, build = target.function, form_of(target, spec.engine, bytes).build
    timeout_s, clock, timer = spec.target.timeout_s, time.process_time, signal.setitimer
    trials = 0

    def trial(data: bytes) -> None:
        nonlocal trials
        trials += 1
        try:
            timer(signal.ITIMER_VIRTUAL, timeout_s)
            try:
                function(build(data))
            finally:
                timer(signal.ITIMER_VIRTUAL, 0)
        except BaseException:  # no failure ends the run, as under zest
            pass
        if clock() >= seconds:
            record.write_text(json.dumps({"trials": trials}))
            os._exit(0)

    signal.signal(signal.SIGVTALRM, _expired)
    atheris.Setup([sys.argv[0], *sys.argv[4:]], trial)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
