"""The stricter kill criterion for Python targets: a different return value kills, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fuzztui.fuzzfirst.batch import Progress, silent
from fuzztui.fuzzfirst.prune import Input
from fuzztui.fuzzfirst.python_batch import PythonBatch


class PythonOutputs:
    """As :class:`~fuzztui.fuzzfirst.program_output.Outputs`, for Python functions.

    Compares the ``repr`` of the return value, without addresses, or the class of an expected
    exception. ``batch`` returns a runner for a mutant's command, or for the target if called with
    ().
    """

    def __init__(self, batch: Callable[[Sequence[str]], PythonBatch]) -> None:
        self._batch = batch
        self._known: dict[str, str] = {}
        """The target's results by digest; "": it failed, or two runs differed."""

    async def differing(
        self, command: Sequence[str], inputs: Sequence[Input], progress: Progress = silent
    ) -> dict[str, str]:
        """Return digests of inputs on which ``command``, a mutant, differs, each with "output".

        Inputs on which mutant or target fail are not compared. Raises
        :class:`~fuzztui.campaign.rundir.SupervisorError` if one of them cannot be run at all.
        """
        await self._learn([one for one in inputs if one.digest not in self._known])
        progress(0.4)
        suspects = [one for one in inputs if self._known.get(one.digest)]
        mutant = self._batch(command)
        for done in (0.7, 1.0):  # in two orders: effects of an earlier input must not kill
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
        """Record the target's results of two runs, the second one in reverse order."""
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
