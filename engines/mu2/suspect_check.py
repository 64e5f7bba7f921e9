"""Find, in a fresh worker, the mutant that changed the state of the program.

The previous worker stopped because the original's behaviour on some input had changed. Either the
input is flaky, or one of the mutants that had run changed some state: each of them is tried in a
separate child process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.forks import ChildHost
from fuzztui.engines.execute.isolation import Isolation
from fuzztui.engines.mu2.kill_criterion import KillCriterion
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, Unstable
from fuzztui.engines.mutants.program import CannotSwap, Program, PythonMutant

_REPEATS = 20


class SuspectCheck:
    """Records in :class:`Isolation` the mutants that change the program's state."""

    def __init__(
        self,
        executor: Executor,
        program: Program,
        criterion: KillCriterion,
        host: ChildHost,
    ) -> None:
        self._executor, self._program, self._criterion = executor, program, criterion
        self._host = host

    def run(self, isolation: Isolation, say: Callable[[str, str], None]) -> None:
        """Examine the suspects that the previous worker recorded, if there are any."""
        suspects, isolation.suspects = isolation.suspects, None
        if suspects is None:
            return
        data = suspects.data
        if not self._in_child(partial(self._repeats, data)):
            isolation.mark_flaky(data)
            say("warning", "an input is flaky: no mutant is run on it")
        else:
            culprits = self._culprits(
                data, filter(None, map(self._program.by_id.get, suspects.ids))
            )
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

    def _culprits(self, data: bytes, mutants: Iterable[PythonMutant]) -> list[PythonMutant]:
        return [m for m in mutants if not self._in_child(partial(self._after, data, m))]

    def _in_child(self, work: Callable[[Callable[[Any], None]], None]) -> bool:
        return self._host.ask(work) is True  # None: the child died or hung

    def _repeats(self, data: bytes, send: Callable[[Any], None]) -> None:
        self._executor.in_child()
        mutant_executor = MutantExecutor(self._executor, self._program, self._criterion)
        original = self._executor.call(data)
        send(all(mutant_executor.repeats(original) for _ in range(_REPEATS)))

    def _after(self, data: bytes, mutant: PythonMutant, send: Callable[[Any], None]) -> None:
        """Send whether the original behaves as before after the mutant has run."""
        self._executor.in_child()
        mutant_executor = MutantExecutor(self._executor, self._program, self._criterion)
        original = self._executor.call(data)
        self._program.changed()
        try:
            mutant_executor.verdict(original, mutant)
        except CannotSwap:
            send(True)
            return
        except Unstable:
            send(False)
            return
        self._program.changed()
        send(mutant_executor.repeats(original))
