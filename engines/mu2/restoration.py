"""Check that putting lasting state back makes a run like the first one of a fresh process.

What :class:`LastingState` does not cover (an iterator, an object of a C extension, another
package) keeps what an input has left, so that the code which made it runs only once in a process.
Its coverage shows that. Mutants of such functions must not run in a process that has run inputs:
for each input, a child process imports the program with the mutant. If even that does not make the
code run again, its mutants cannot be judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.forks import ChildHost, Tell
from fuzztui.engines.mu2.isolated import Reload
from fuzztui.engines.mu2.mutant_executor import MutantExecutor
from fuzztui.engines.mutants.units import Unit
from fuzztui.kernel.base.text import listed, several

NOT_JUDGED: Final = (
    "its function runs only once in a process, even if the program is imported again"
)
"""Why a mutant is invalid."""
MAX_INPUTS: Final = 8
"""Inputs that are checked when a campaign starts."""
_MAX_SHOWN: Final = 5


class RestorationCheck:
    """Compares runs in child processes.

    This process must not have run any input, unless the children import the program again
    (``fresh=False``).
    """

    def __init__(self, mutants: MutantExecutor, reload: Reload, host: ChildHost) -> None:
        self._executor, self._program = mutants.executor, mutants.program
        self._criterion = mutants.criterion
        self._reload, self._host = reload, host
        self.varying: list[bytes] = []
        """The inputs of the last check that behave in another way in a second run."""

    def run(self, inputs: Sequence[tuple[str, bytes]], *, fresh: bool = True) -> list[str]:
        """Mark units as ``unrestored`` or ``unjudged``. Returns warnings for the user.

        ``inputs``: names and contents. ``fresh``: whether this process has not run any input; if it
        has, children import the program again.
        """
        warnings = []
        found = self._compared(inputs, fresh=fresh)
        if fresh and (other := [at for at, compared in found if compared["differs"]]):
            self._program.leave_state()
            warnings.append(
                f"{inputs[other[0]][0]}: the program behaves differently when its state is put"
                " back, so it is left as it is"
            )
            found = self._compared(inputs, fresh=fresh)
        self.varying = [inputs[at][1] for at, compared in found if compared["varies"]]
        for at, compared in found:
            if compared["after"] is not None:
                warnings += self._mark(*inputs[at], set(compared["after"]), fresh=fresh)
        return warnings

    def _mark(self, name: str, data: bytes, after: set[int], *, fresh: bool) -> Iterator[str]:
        """Mark the units that run only if this input is the first one. Yields warnings.

        ``after``: the cells that this input covers in a second run in the same process.
        """
        # Cells that vary from process to process prove nothing.
        lost = self._alone(data, imported=not fresh) & self._alone(data, imported=not fresh)
        lost -= after
        units = [unit for unit in self._units(lost) if not unit.unrestored]
        if not units:
            return
        never = self._units(lost - self._alone(data, imported=True)) if fresh else []
        for unit in units:
            unit.unrestored, unit.unjudged = True, unit in never
        what = "ran in a fresh process, but not again after the program's state was put back"
        for some, result in (
            ([u for u in units if not u.unjudged], "run in child processes that import them"),
            ([u for u in units if u.unjudged], "cannot be judged"),
        ):
            if some:
                names = listed([f"{u.source.module}:{u.name}" for u in some], _MAX_SHOWN)
                count = sum(len(self._program.points[n].mutants) for u in some for n in u.points)
                yield f"{name}: {names} {what}: {several(count, 'mutant')} {result}"

    def _compared(
        self, inputs: Sequence[tuple[str, bytes]], *, fresh: bool
    ) -> list[tuple[int, dict[str, Any]]]:
        """Compare a second run of each input in the same process with the first one.

        Returns pairs of an input's number and the result, which has three keys.

        ``differs``: whether it behaves differently because state was put back. ``after``: the cells
        that it covers if it lacks any of the first run, else None. ``varies``: whether the second
        run differs in anything.
        """
        criterion = self._criterion

        def work(at: int, send: Tell) -> None:
            executor = self._in_child()
            if not fresh:
                executor = self._reload(None)
            for number in range(at, len(inputs)):
                data = inputs[number][1]
                first, second = self._run(executor, data), self._run(executor, data)
                varies = differs = criterion.judges(first.outcome) and (
                    criterion.difference(first, second) is not None
                )
                if differs:
                    third, fourth = executor.call(data), executor.call(data)
                    differs = criterion.difference(third, fourth) is None
                before, after = self._cells(first), self._cells(second)
                less = sorted(after) if before - after else None
                varies = varies or before != after
                send({"next": number + 1, "differs": differs, "after": less, "varies": varies})

        found = self._host.each(len(inputs), work)
        for number, compared in found:
            if compared["differs"]:
                compared["differs"] = not self._changes_itself(inputs[number][1], fresh=fresh)
        return found

    def _changes_itself(self, data: bytes, *, fresh: bool) -> bool:
        """Whether the first two runs in a process differ even if nothing is put back."""

        def work(send: Tell) -> None:
            executor = self._in_child()
            if not fresh:
                executor = self._reload(None)
            first, second = executor.call(data), executor.call(data)
            send(self._criterion.difference(first, second) is not None)

        return self._host.ask(work) is True

    def _alone(self, data: bytes, *, imported: bool = False) -> set[int]:
        """The cells that this input covers in a separate process. ``imported``: when it runs
        again, after the program was imported again.
        """

        def work(send: Tell) -> None:
            executor = self._in_child()
            if imported:
                self._run(executor, data)
                executor = self._reload(None)
            send(sorted(self._cells(self._run(executor, data))))

        return set(self._host.ask(work) or ())

    def _in_child(self) -> Executor:
        self._executor.in_child()
        self._program.install(None)
        return self._executor

    def _run(self, executor: Executor, data: bytes) -> Execution:
        """Restore the lasting state, then run the input."""
        self._program.changed()
        self._program.clear_caches()
        return executor.run(data)

    def _cells(self, execution: Execution) -> set[int]:
        data = execution.observed.to_bytes(self._executor.coverage.size, "little")
        return {cell for cell, byte in enumerate(data) if byte}

    def _units(self, cells: Iterable[int]) -> list[Unit]:
        size = self._executor.coverage.size  # modules that the child has imported are unknown here
        return self._program.units_of(sum(1 << 8 * cell for cell in cells if cell < size))
