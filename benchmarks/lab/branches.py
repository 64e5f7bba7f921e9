"""The branches that a corpus covers, as coverage.py counts them, without any probe of ours.

    PYTHON -P branches.py SPEC RECORD ENTRIES MARKS

The arguments are those of ``replayed.py``. The file RECORD gets JSON: the branches of the modules
in ``target.include`` that all inputs take (``covered_branches`` of ``coverage json``), those after
each of MARKS, and all branches of these modules. What is executed on import counts for nothing.
Runs under the target's interpreter: the standard library, ``coverage`` and ``fuzztui.engines``.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
from pathlib import Path

from coverage import Coverage

from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.loading import form_of
from fuzztui.engines.instrument.target import load_target

sys.path.append(str(Path(__file__).parent))  # behind the target's
from replayed import Replay

_PATIENCE = 5
"""Multiple of ``target.timeout`` that an input gets, because coverage.py slows a program down."""


class _TimeoutError(BaseException):
    """The input took too long."""


def _expired(*_: object) -> None:
    raise _TimeoutError


class Branches:
    """The branches that were taken while this measures."""

    def __init__(self, include: tuple[str, ...]) -> None:
        self._coverage = Coverage(
            data_file=None, branch=True, source_pkgs=list(include), config_file=False
        )
        self._arcs: dict[str, int] = {}
        self._found: dict[str, tuple[int, int]] = {}
        """By file: the branches taken, and all."""

    def start(self) -> None:
        self._coverage.start()

    def count(self) -> int:
        """All branches that were taken until now."""
        self._coverage.stop()
        data = self._coverage.get_data()
        for file in data.measured_files():
            arcs = len(data.arcs(file) or ())
            if self._arcs.get(file) != arcs:  # to analyse a file takes long
                stats = self._coverage.branch_stats(file).values()
                self._found[file] = sum(taken for _, taken in stats), sum(of for of, _ in stats)
                self._arcs[file] = arcs
        self._coverage.start()
        return sum(taken for taken, _ in self._found.values())

    @property
    def of(self) -> int:
        """All branches of the modules, also of those that were not executed."""
        return sum(of for _, of in self._found.values())


def main() -> None:
    replay = Replay()
    spec = replay.spec
    fixture = Fixture(spec.dir)
    fixture.open()
    random.seed(0)  # as an engine does
    target = load_target(spec.target, None)
    fixture.loaded()
    form = form_of(target, spec.engine, bytes)
    signal.signal(signal.SIGVTALRM, _expired)
    branches = Branches(spec.target.include)

    def one(data: bytes) -> None:
        fixture.restore()
        # No failure ends the replay, as under an engine.
        with contextlib.suppress(BaseException):
            signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE * spec.target.timeout_s)
            try:
                target.function(form.build(data))
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    branches.start()
    *over, found = replay.run(one, branches.count)
    replay.write(branches=found, branches_over=over, branches_of=branches.of)


if __name__ == "__main__":
    main()
    os._exit(0)  # sys.exit() would wait for the target's threads and run its exit handlers
