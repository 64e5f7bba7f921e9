"""A child process of ``score``: runs a share of the mutants, input by input."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.execute.forks import Tell
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, Unstable
from fuzztui.engines.mutants.program import CannotSwap

_CHUNK: Final = 32
"""Mutants after which a child checks that the original still behaves as before."""


def chunks(mutants: Sequence[int]) -> list[list[int]]:
    """The mutants in groups, after each of which the original is checked."""
    return [list(mutants[n : n + _CHUNK]) for n in range(0, len(mutants), _CHUNK)]


class ScoreChild:
    """Runs in the child. Its messages are read by :meth:`_Scorer._swapped`."""

    def __init__(
        self,
        mutants: MutantExecutor,
        *,
        inputs: Sequence[tuple[str, bytes]],
        skipped: Set[int],
        alive: Set[int],
        known_reached: set[int] | None,
    ) -> None:
        """``skipped``: numbers of inputs that are not run. ``alive``: the mutants to run.

        ``known_reached``: mutants known to be reached, which are not sent again. None: for a kill
        matrix: a mutant runs on after its first kill, and all mutants that an input reaches are
        sent.
        """
        self._mutants, self._program = mutants, mutants.program
        self._inputs, self._skipped = inputs, skipped
        self._alive = {a for a in alive if not self._program.mutants[a].static}
        self._known_reached = known_reached

    def run(self, start: int, groups: list[list[int]] | None, send: Tell) -> None:
        """Run the mutants on the inputs from number ``start`` on; ``send`` what happens.

        ``groups``: the mutants for the input ``start``; None: all mutants that it infects.
        """
        mutant_executor, program, alive = self._mutants, self._program, self._alive
        executor = mutant_executor.executor
        executor.in_child()
        probing = program.probing()
        probing.want(alive)
        for at in range(start, len(self._inputs)):
            send({"input": at})
            if at in self._skipped:
                continue
            data = self._inputs[at][1]
            program.clear_caches()  # else code behind a filled cache would not be covered
            plain = executor.run(data)
            program.changed()
            cells = plain.observed.to_bytes(executor.coverage.size, "little")
            send({"ran": [plain.outcome, [n for n, hit in enumerate(cells) if hit]]})
            if not mutant_executor.criterion.judges(plain.outcome):
                continue
            if at != start or groups is None:
                probing.cover(program.units_of(plain.observed))
                program.install(probing)
                probing.clear()
                original = executor.run(data)
                infected = [a for a in probing.infected() if a in alive]
                reached = probing.reached()
                if self._known_reached is not None:
                    reached = [a for a in reached if a not in self._known_reached]
                    self._known_reached.update(reached)
                if reached:
                    send({"reached": reached})
                program.install(None)
                send({"infected": infected})
                todo = chunks(infected)
            else:
                original, todo = plain, groups
            if not todo:
                continue
            try:
                turns = mutant_executor.measure(original)
            except Unstable:
                send({"flaky": True})
                return
            for group in todo:
                ran = [a for a in group if a in alive]
                wrong = self._run(original, ran, send, turns)
                if wrong:
                    send({wrong: ran})
                    return
                send({"done": True})

    def _run(
        self,
        original: Execution,
        group: list[int],
        send: Tell,
        turns: int,
    ) -> str:
        """Run a group of mutants on an input and send its kills.

        Returns ``flaky`` if the original varies on the input, ``leaked`` if a mutant changed state
        for good, else an empty string.
        """
        kills: list[tuple[int, str, str]] = []
        while True:
            for a in group:
                if a not in self._alive:
                    continue
                send({"begin": a})
                try:
                    verdict = self._mutants.verdict(original, self._program.mutants[a], turns)
                except CannotSwap as e:
                    send({"invalid": str(e)})
                    self._alive.discard(a)
                    continue
                if verdict is not None:
                    kills.append((a, verdict.oracle, verdict.detail))
            # Some mutants may have run with state that others left, so all of them run again. From
            # now on, this state is restored before each run.
            if not self._program.changed():
                break
            kills.clear()
        if not self._mutants.repeats(original):
            return "flaky" if self._mutants.varies(original) else "leaked"
        if self._known_reached is not None:
            self._alive.difference_update(a for a, _, _ in kills)
        if kills:
            send({"kills": kills})
        return ""
