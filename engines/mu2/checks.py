"""Checks of an engine's mutants: which must run in child processes, and which cannot be judged."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from fuzztui.engines.execute.forks import ChildHost, Tell
from fuzztui.engines.instrument.units import CannotSwap
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus
from fuzztui.engines.loop.varying import propose_clock
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.isolated import Reload
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, Unstable
from fuzztui.engines.mu2.restoration import MAX_INPUTS, NOT_JUDGED, RestorationCheck
from fuzztui.engines.mu2.table import INVALID, KILLED
from fuzztui.engines.mutants.harness_modules import harness_modules
from fuzztui.engines.mutants.lasting_state import TOO_LARGE
from fuzztui.engines.mutants.late_modules import first_inputs
from fuzztui.engines.mutants.mutant import PythonMutant
from fuzztui.kernel.base.text import several

_REPEATS: Final = 20
_SHOWN: Final = 40
"""Bytes of an input that a warning shows."""


class Checks:
    """Checks mutants before the first trial, and again with the corpus before an exact pass."""

    def __init__(self, context: Context, parts: Analysis, again: Reload, host: ChildHost) -> None:
        """``again`` re-imports the target in a child process, which ``host`` starts."""
        self._context, self._parts, self._host = context, parts, host
        self._mutants = MutantExecutor(parts.executor, parts.program, parts.criterion)
        self._restoration = RestorationCheck(self._mutants, again, host)

    def check_inputs(self) -> None:
        """Check with the first inputs that restoring lasting state makes runs the same again.

        Isolates the mutants of code that does not run again, and marks those as invalid that no
        process can judge.
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
        propose_clock(self._context, self._restoration.varying, several(len(inputs), "input"))
        table.isolate([m.id for m in program.mutants if m.unrestored])
        for m in program.mutants:
            if m.unit is not None and m.unit.unjudged and table.rows[m.index].base != INVALID:
                table.invalidate(m.index, NOT_JUDGED)

    def check_suspects(self) -> None:
        """Isolate mutants under which an earlier worker died, or which changed its state."""
        self._examine_suspects()
        self._parts.table.isolate(self._parts.isolation.outside)

    def _examine_suspects(self) -> None:
        """Find the mutant that changed the state of the program.

        The previous worker stopped because the original's behaviour on some input had changed.
        Either the input is flaky, or one of the mutants that had run changed some state: each of
        them is tried in a separate child process.
        """
        parts, say = self._parts, self._context.log.message
        isolation = parts.isolation
        suspects, isolation.suspects = isolation.suspects, None
        if suspects is None:
            return
        data = suspects.data
        if not self._host.ask(partial(self._repeats, data)):
            isolation.mark_flaky(data)
            say("warning", "an input is flaky: no mutant is run on it")
        else:
            ran = filter(None, map(parts.program.by_id.get, suspects.ids))
            culprits = [m for m in ran if not self._host.ask(partial(self._after, data, m))]
            for mutant in culprits:
                why = "it changed the program's state for later runs"
                isolation.outside[mutant.id] = why
                say("warning", f"mutant {mutant.id}: {why}; it runs in child processes from now on")
            if not culprits:
                isolation.unexplained += 1
                # The same input must not cause this check again.
                isolation.mark_flaky(data)
                what = (
                    "mutants run in child processes from now on"
                    if isolation.all_isolated
                    else "no mutant is run on this input any more"
                )
                say(
                    "warning",
                    "the program's behaviour changed while mutants ran,"
                    f" but no single mutant causes this: {what}",
                )
        isolation.save()

    def _repeats(self, data: bytes, send: Tell) -> None:
        self._mutants.executor.in_child()
        original = self._mutants.executor.call(data)
        send(all(self._mutants.repeats(original) for _ in range(_REPEATS)))

    def _after(self, data: bytes, mutant: PythonMutant, send: Tell) -> None:
        """Send whether the original behaves as before after the mutant has run."""
        self._mutants.executor.in_child()
        original = self._mutants.executor.call(data)
        self._parts.program.changed()
        try:
            self._mutants.verdict(original, mutant)
        except CannotSwap:
            send(True)
            return
        except Unstable:
            send(False)
            return
        self._parts.program.changed()
        send(self._mutants.repeats(original))

    def check_corpus(self, corpus: Corpus, backlog: Backlog) -> None:
        """Isolate the mutants of code that an entry reaches only in a separate process."""
        table = self._parts.table
        entries = [(f"entry {e.id}", e.data) for e in corpus.entries]
        for warning in self._restoration.run(entries, fresh=False):
            self._context.log.message("warning", warning)
        propose_clock(self._context, self._restoration.varying, f"{len(entries):,} entries")
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
