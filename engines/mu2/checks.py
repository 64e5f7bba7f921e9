"""Checks of an engine's mutants: which must run in child processes, and which cannot be judged."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fuzztui.engines.execute.forks import ChildHost
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.isolated import Reload
from fuzztui.engines.mu2.restoration import MAX_INPUTS, NOT_JUDGED, RestorationCheck
from fuzztui.engines.mu2.suspect_check import SuspectCheck
from fuzztui.engines.mu2.table import INVALID, KILLED
from fuzztui.engines.mutants.harness_modules import harness_modules
from fuzztui.engines.mutants.lasting_state import TOO_LARGE
from fuzztui.engines.mutants.late_modules import first_inputs

_SHOWN: Final = 40
"""Bytes of an input that a warning shows."""


class Checks:
    """Checks mutants before the first trial, and again with the corpus before an exact pass."""

    def __init__(self, context: Context, parts: Analysis, again: Reload, host: ChildHost) -> None:
        """``again`` re-imports the target in a child process, which ``host`` starts."""
        self._context, self._parts, self._host = context, parts, host
        self._restoration = RestorationCheck(
            context.executor, parts.program, parts.criterion, again, host
        )

    def check_inputs(self) -> None:
        """Run the first inputs: does the program do the same after a module was restored?

        Isolates mutants of modules that are not restored, and gives up those that no process
        can judge.
        """
        spec, program, table = self._context.spec, self._parts.program, self._parts.table
        message = self._context.log.message
        if program.lasting is not None and program.lasting.left_out:
            message("warning", TOO_LARGE)
        choices, suite = self._context.executor.form.choices, self._context.target.suite
        inputs = first_inputs(spec, choices=choices, most=MAX_INPUTS, suite=suite)
        for warning in self._restoration.run(
            [(f"input {data[:_SHOWN]!r}", data) for data in inputs]
        ):
            message("warning", warning)
        table.isolate([m.id for m in program.mutants if m.unrestored])
        for m in program.mutants:
            if m.unit is not None and m.unit.unjudged and table.rows[m.index].base != INVALID:
                table.invalidate(m.index, NOT_JUDGED)

    def check_suspects(self) -> None:
        """Isolate mutants under which an earlier worker died."""
        parts = self._parts
        check = SuspectCheck(parts.executor, parts.program, parts.criterion, self._host)
        check.run(parts.isolation, self._context.log.message)
        parts.table.isolate(parts.isolation.outside)

    def check_corpus(self, corpus: Corpus, backlog: Backlog) -> None:
        """Isolate the mutants of code that an entry reaches only in a separate process."""
        table = self._parts.table
        entries = [(f"entry {e.id}", e.data) for e in corpus.entries]
        for warning in self._restoration.run(entries, fresh=False):
            self._context.log.message("warning", warning)
        rows = [row for row in table.rows if row.mutant.unrestored and not row.isolated]
        if rows:
            killed = [row for row in rows if row.base == KILLED]
            backlog.credit([row.killer for row in killed], -1)
            table.requeue(killed)
            table.isolate([row.id for row in rows])
            backlog.reopen([row.mutant.index for row in rows])


def code_of(context: Context) -> Iterator[str]:
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
