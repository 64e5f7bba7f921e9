"""Complete the kill matrix of an ended run: every mutant that was built runs all kept inputs.

During a campaign a mutant runs only its own seeds and the inputs of its own turn, so the matrix
contains fewer kills than the corpus has. Mutants are built again, one after the other.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import time
from collections.abc import Callable
from math import inf
from typing import Final

from fuzztui.features.fuzzfirst.backend import backend_for
from fuzztui.features.fuzzfirst.corpora import by_origin, turn_instances
from fuzztui.features.fuzzfirst.json_lines import JsonLines
from fuzztui.features.fuzzfirst.kill_matrix import KillMatrix, killed_by
from fuzztui.features.fuzzfirst.prune import Input, gather, gather_aside, gather_seeds, run_all
from fuzztui.features.fuzzfirst.showmap import Unrunnable
from fuzztui.features.fuzzfirst.supply import source_of
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.events import MutantState
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir

RAN: Final = "matrix.jsonl"
"""File in ``RUN/mutants``: which inputs each mutant has run, as a digest of all of them."""


class WholeMatrix:
    """Runs all kept inputs on all mutants that had a turn. Raises :class:`SupervisorError`.

    A mutant that has run the same inputs before is left out, so an interrupted pass continues.
    """

    def __init__(
        self,
        campaign: Campaign,
        run_dir: RunDir,
        state: State,
        record: Callable[[MutantState], object],
    ) -> None:
        """``record``: called with the verdict of each mutant that is killed for the first time."""
        self._campaign, self._run_dir, self._record = campaign, run_dir, record
        self._backend = backend_for(campaign, run_dir)
        self._matrix = KillMatrix(run_dir.mutants / "kills.jsonl")
        self._ran = JsonLines(run_dir.mutants / RAN)
        self._mutants = [m for m in state.mutants.values() if m.slot]
        strict = campaign.table("mutants")["oracle"] == "output"
        self._outputs = self._backend.outputs() if strict else None
        self.failed: dict[str, str] = {}
        """By mutant: why it could not be built or run."""
        self.left = 0
        """Mutants that had no time."""

    async def run(
        self,
        step: Callable[[str], None],
        progress: Callable[[int, int], None],
        until: float = inf,
    ) -> None:
        """Run all mutants, until the monotonic time ``until``.

        ``step``: called with a message about each slow step before. ``progress``: called with the
        number of mutants done, and of all.
        """
        await self._backend.prepare(step)
        inputs = await asyncio.to_thread(self.kept)
        step(f"running {len(inputs):,} inputs on the target")
        # Only inputs that end well on the target can kill.
        on_target = await self._outcomes((), inputs)
        fit = [one for one in inputs if on_target[one.digest] == "ok"]
        digest = hashlib.sha256("".join(sorted(one.digest for one in fit)).encode()).hexdigest()
        done = {row.get("mutant") for row in self._ran.rows if row.get("inputs") == digest}
        todo = [mutant for mutant in self._mutants if mutant.id not in done]
        for number, mutant in enumerate(todo):
            if time.monotonic() >= until:
                self.left = len(todo) - number
                return
            progress(number, len(todo))
            try:
                kills = await self._kills(mutant, fit)
            except Unrunnable as e:
                self.failed[mutant.id] = str(e)
                continue
            self._matrix.add(mutant.id, by_origin(kills, fit))
            verdict = self._matrix.verdict(mutant) if kills else None
            if verdict is not None and mutant.state != "killed":  # as after a turn
                self._record(verdict)
            self._ran.append([{"mutant": mutant.id, "inputs": digest}])

    def kept(self) -> list[Input]:
        """Return the target's entries, the seeds, and what has failed on mutants, each once."""
        run, slots = self._run_dir, self._run_dir.mutants / "slots"
        instances = sorted(path.name for path in run.out.glob("[!.]*"))
        found = [*gather_seeds(run.seeds), *gather(run.out, instances)]
        for place in sorted((run.mutants / "aside").glob("*")):
            found += gather_aside(place)
        for slot in sorted(path.name for path in slots.glob("*")):
            found += gather(run.in_slot(slot).out, turn_instances(run, slot), FOLDERS)
        return list({one.digest: one for one in reversed(found)}.values())[::-1]

    async def _outcomes(self, command: tuple[str, ...], inputs: list[Input]) -> dict[str, str]:
        batch = self._backend.batch(command, "matrix")
        return {
            one.digest: result.outcome
            async for some in run_all(batch, inputs)
            for one, result in some
        }

    async def _kills(self, mutant: Mutant, inputs: list[Input]) -> dict[str, str]:
        """Return the digests of the inputs that kill the mutant, with the kill criterion."""
        into = self._run_dir.mutants.absolute() / "built" / "matrix"
        try:
            built = await self._backend.build(source_of(mutant), into)
            if not built.command:
                raise Unrunnable(built.error or f"the same program as {built.duplicate_of}")
            outcomes = await self._outcomes(built.command, inputs)
            kills = killed_by(outcomes, dict.fromkeys(outcomes, "ok"))
            if self._outputs is not None:
                other = [one for one in inputs if one.digest not in kills]
                kills |= await self._outputs.differing(built.command, other)
            return kills
        finally:
            await asyncio.to_thread(shutil.rmtree, into, ignore_errors=True)
