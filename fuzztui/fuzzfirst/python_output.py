"""The stricter oracle for Python targets: a mutant is killed by another answer, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fuzztui.fuzzfirst.batch import Progress, silent
from fuzztui.fuzzfirst.prune import Input
from fuzztui.fuzzfirst.python_batch import PythonBatch

__all__ = ["PythonOutputs"]


class PythonOutputs:
    """As :class:`~fuzztui.fuzzfirst.program_output.Outputs`, by what the function returns.

    An answer is the value that it returns, as ``repr`` has it without addresses, or the class
    of the exception, if that is an expected one. ``batch`` gives what runs the mutant with a
    command, or the target for ().
    """

    def __init__(self, batch: Callable[[Sequence[str]], PythonBatch]) -> None:
        self._batch = batch
        self._known: dict[str, str] = {}
        """Of the target, by digest; "" where that is not the same each time."""

    async def differing(
        self, command: Sequence[str], inputs: Sequence[Input], progress: Progress = silent
    ) -> dict[str, str]:
        """Digests of inputs on which ``command``, a mutant, answers otherwise: "output".

        What either of the two fails on tells nothing here. Raises
        :class:`~fuzztui.campaign.rundir.SupervisorError` where it cannot be run at all.
        """
        await self._learn([one for one in inputs if one.digest not in self._known])
        progress(0.4)
        suspects = [one for one in inputs if self._known.get(one.digest)]
        mutant = self._batch(command)
        for done in (0.7, 1.0):  # twice: what an earlier input has left behind kills no mutant
            answers = await mutant.answers(_paths(suspects))
            suspects = [
                one
                for at, one in enumerate(suspects)
                if at in answers and answers[at] != self._known[one.digest]
            ]
            suspects.reverse()
            progress(done)
        telling = {one.digest for one in suspects}
        return {one.digest: "output" for one in inputs if one.digest in telling}

    async def _learn(self, inputs: Sequence[Input]) -> None:
        """Run the target, the second time in another order."""
        if not inputs:
            return
        target = self._batch(())
        first = await target.answers(_paths(inputs))
        second = await target.answers(_paths(inputs[::-1]))
        for at, one in enumerate(inputs):
            answer = first.get(at, "")
            same = answer == second.get(len(inputs) - 1 - at, "")
            self._known[one.digest] = answer if same else ""


def _paths(inputs: Sequence[Input]) -> list[Path]:
    return [one.path for one in inputs]
