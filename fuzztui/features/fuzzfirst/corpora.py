"""The corpora of a fuzz-first campaign: the seeds of each turn, and the transfer of its results.

(Paper: "Using the Mutants".) Inputs are never lost: inputs on which a mutant fails are put aside in
a directory of its turn, and everything that a turn found is run on the target at once.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzztui.features.fuzzfirst.batch import BatchRunner
from fuzztui.features.fuzzfirst.build import MutantBackend
from fuzztui.features.fuzzfirst.fold import in_rounds
from fuzztui.features.fuzzfirst.kill_matrix import KillMatrix, killed_by
from fuzztui.features.fuzzfirst.prune import (
    Input,
    Pruned,
    gather,
    gather_aside,
    gather_seeds,
    lay_out,
    prune,
    put_aside,
)
from fuzztui.features.fuzzfirst.showmap import Unrunnable
from fuzztui.features.fuzzfirst.transfer import Transfer, transferred_by_turn
from fuzztui.kernel.model.passive import ADDED, is_passive
from fuzztui.kernel.model.progress import AT_WORK
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.observe.afl_names import parse_name

MAX_LOST = 3
MAX_LOST_SHARE = 0.25
"""How many edges fewer than on the target the seeds may cover on a mutant; as a share of these if
that is more: a compiler also removes code that computes what the mutant does not use."""

_SLOT = re.compile(r"(?:[A-Za-z0-9-]+_)?m([0-9]+)")

_FROM_SEEDS = re.compile(",orig:(?!id:)")
"""Matches the names of entries that are copies of a turn's seeds."""


def turn_number(name: str) -> int:
    """Return 7 for the turns ``m7`` and ``box_m7``; 0 for any other name."""
    match = _SLOT.fullmatch(name)
    return int(match[1]) if match else 0


def turn_instances(run_dir: RunDir, slot: str) -> list[str]:
    """Return the names of a turn's instances, from its sync directory."""
    out = run_dir.in_slot(slot).out
    names = [p.name for p in out.iterdir() if p.is_dir()] if out.is_dir() else []
    return sorted(names, key=lambda name: (len(name), name))


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What one turn has transferred."""

    brought: dict[str, int]
    """Entries, crashes and hangs of the target, and kills, of all the turn's transfers."""
    edges: int
    """New edges of the target, of this transfer."""
    trouble: str
    """Why some inputs could not be run; "" if all were run."""
    by_slot: Mapping[str, dict[str, int]]
    """Entries, crashes and hangs of the target by the turn that is credited with them.

    The counts of earlier turns can grow: an engine trims the seeds that an earlier turn found, and
    the trimmed input is credited to that turn.
    """


class Corpora:
    """All inputs of a run. Call :meth:`start` first. Raises :class:`SupervisorError`."""

    def __init__(self, campaign: Campaign, run_dir: RunDir, backend: MutantBackend) -> None:
        self._returns: bool = campaign.table("mutants")["returns"]
        self._run_dir, self._backend = run_dir, backend
        self._transfer = Transfer(run_dir.out, backend.batch((), "target"))
        self.matrix = KillMatrix(run_dir.mutants / "kills.jsonl")
        strict = campaign.table("mutants")["oracle"] == "output"
        self._outputs = backend.outputs() if strict else None
        self._comparing, self._repairing = asyncio.Lock(), asyncio.Lock()
        self._repaired: Counter[str] = Counter()
        """New edges by repaired near misses, by turn, until the turn is credited with them."""
        self._from_target = False
        """Whether the target comes first: then what it found is among the seeds of turns."""
        self._seeds: list[Input] = []
        self._last: list[Input] | None = None
        """The corpus that the last turn left; a parallel one only at the start."""
        self._aside: dict[str, Input] = {}

    @property
    def seeds(self) -> list[Path]:
        """The files of the campaign's seeds, and what the target found first."""
        return [one.path for one in self._seeds]

    async def start(self, state: State) -> None:
        """Run the seeds on the target, and read what an earlier supervisor has left."""
        self._seeds = await asyncio.to_thread(gather_seeds, self._run_dir.seeds)
        self._from_target = in_rounds(state)
        if self._from_target:
            own = [name for name, i in state.instances.items() if not (i.mutant or is_passive(i))]
            found = await asyncio.to_thread(gather, self._run_dir.out, own)
            new = (one for one in found if one.path.name.endswith("+cov"))
            self._seeds = list({one.digest: one for one in [*self._seeds, *new]}.values())
        await self._transfer.start(self._seeds)
        for place in sorted((self._run_dir.mutants / "aside").glob("*")):
            aside = await asyncio.to_thread(gather_aside, place)
            self._aside |= {one.digest: one for one in aside}
        busy = {m.slot for m in state.mutants.values() if m.stage in AT_WORK}
        there = (path.name for path in (self._run_dir.mutants / "slots").glob("*"))
        idle = (name for name in there if name not in busy and turn_number(name))
        done = sorted(idle, key=turn_number)
        while done and not self._last:  # a turn that never started has left nothing
            self._last = await asyncio.to_thread(self._left_by, done.pop()) or None

    async def prepare_turn(
        self, mutant: str, slot: str, batch: BatchRunner, *, parallel: bool
    ) -> Pruned:
        """Prune the corpus, write the seeds of a mutant's turn, and record the mutant's kills.

        ``batch`` runs the mutant. ``parallel``: start from the seeds alone. Raises
        :class:`Unrunnable` if the mutant cannot be run.
        """
        corpus = await asyncio.to_thread(self._corpus, parallel=parallel)
        seeds = {one.digest for one in self._seeds}
        pruned = await prune(batch, corpus, seeds)
        pruned.lost = self._lost(pruned, {one.digest for one in pruned.kept} & seeds)
        place = self._run_dir.mutants / "aside" / slot
        await asyncio.to_thread(put_aside, pruned, place)
        if pruned.kept or not pruned.aside:
            await asyncio.to_thread(lay_out, pruned.kept, self._run_dir.in_slot(slot).seeds)
        on_mutant = {one.digest: outcome for one, outcome in pruned.aside}
        # Only inputs that ended well on the target can kill; all were run on the target before.
        on_target = self._transfer.verdicts
        kills = by_origin(killed_by(on_mutant, on_target), (one for one, _ in pruned.aside))
        await asyncio.to_thread(self.matrix.add, mutant, kills)
        if pruned.aside:  # keep the copies: tidying up may remove the files of turns
            copies = await asyncio.to_thread(gather_aside, place)
            self._aside |= {one.digest: one for one in copies}
        return pruned

    def _lost(self, pruned: Pruned, seeds: Collection[str]) -> str:
        """Return how much less these seeds, on which the mutant does not fail, reach on the mutant
        than on the target; "" if not less.
        """
        reached, of = len(pruned.edges), self._transfer.edges_of_seeds(seeds)
        if of - reached <= max(MAX_LOST, of * MAX_LOST_SHARE):
            return ""
        return f"the seeds cover {reached:,} edges of the mutant, and {of:,} of the target"

    async def transfer_turn(
        self, mutant: str, slot: str, batch: BatchRunner | None, command: Sequence[str],
        *, parallel: bool,
    ) -> TurnResult:  # fmt: skip
        """Transfer what a mutant's turn has found to the target, and record the mutant's kills.

        ``batch`` and ``command`` run the mutant; None and () if its program is gone: then crashes
        and hangs that afl-fuzz reported cannot be confirmed, and do not count as kills.
        ``parallel``: the turn's corpus is not that of the next one.
        """
        queue = await asyncio.to_thread(self._queue_of, slot)
        failing = await asyncio.to_thread(self._failing_of, slot)
        edges, trouble = 0, ""
        try:
            edges = await self._transfer.take([*queue, *failing])
        except Unrunnable as e:
            trouble = f"not all inputs that it found could be run on the target: {e}"
        else:
            try:
                await self._repair()
            except SupervisorError as e:  # the near misses wait for the next turn
                trouble = str(e)
            edges += self._repaired.pop(slot, 0)
        on_target = self._transfer.verdicts
        on_mutant: dict[str, str] = {}
        kills: dict[str, str] = {}
        if batch is not None:
            # Run again: on a busy machine afl-fuzz reports slow inputs as hangs.
            suspects = [one for one in failing if on_target.get(one.digest) == "ok"]
            try:
                verdicts = await batch.run([one.path for one in suspects])
                pairs = zip(suspects, verdicts, strict=True)
                on_mutant = {one.digest: verdict.outcome for one, verdict in pairs}
                kills = await self._telling(command, queue)
            except Unrunnable as e:
                trouble = trouble or f"the mutant cannot be run any more: {e}"
        kills |= by_origin(killed_by(on_mutant, on_target), failing)
        await asyncio.to_thread(self.matrix.add, mutant, kills)
        if not parallel:
            before, self._last = self._last, await asyncio.to_thread(self._left_by, slot)
            await asyncio.to_thread(self._tidy, before or [], slot)
        by_slot = await asyncio.to_thread(transferred_by_turn, self._run_dir.out)
        brought = by_slot[slot] | {"kills": len(self.matrix.killers(mutant))}
        return TurnResult(brought, edges, trouble, by_slot)

    async def _repair(self) -> None:
        """Run on the target what is made of near misses, each once, also of other turns."""

        async def take(one: Input, made: list[Input]) -> None:
            turn = parse_name(one.path.name).sync.partition("-")[0]
            self._repaired[turn] += await self._transfer.take(made)
            self._transfer.note_repaired(one)

        if (repair := self._backend.repair) is not None:
            async with self._repairing:
                await repair(await asyncio.to_thread(self._transfer.near_misses), take)

    async def _telling(self, command: Sequence[str], queue: list[Input]) -> dict[str, str]:
        """Return the inputs of ``queue`` that kill the mutant by another output, by origin.

        {} if the campaign does not count such kills.
        """
        if self._outputs is None or not command:
            return {}
        fit = [one for one in queue if self._transfer.verdicts.get(one.digest) == "ok"]
        async with self._comparing:
            return by_origin(await self._outputs.differing(command, fit), fit)

    def _corpus(self, *, parallel: bool) -> list[Input]:
        """Return the inputs that are pruned for the next mutant, each content once."""
        own = self._seeds if parallel or self._last is None else self._last
        if self._from_target:
            own = [*self._seeds, *own]
        added = gather(self._run_dir.out, [ADDED])
        back = list(self._aside.values()) if self._returns and not parallel else []
        return list(
            {one.digest: one for one in [*own, *added, *back] if one.path.exists()}.values()
        )

    def _queue_of(self, slot: str) -> list[Input]:
        return gather(self._run_dir.in_slot(slot).out, turn_instances(self._run_dir, slot))

    def _left_by(self, slot: str) -> list[Input]:
        """Return the corpus that a turn leaves: its seeds, and the entries that it found.

        The seeds are not taken from its queue: an engine trims them as long as the mutant covers
        the same, so a mutant that returns early would leave almost nothing of them.
        """
        seeds = gather_seeds(self._run_dir.in_slot(slot).seeds)
        origins = {one.origin for one in seeds}
        found = [one for one in self._queue_of(slot) if one.origin not in origins]
        return list({one.digest: one for one in [*seeds, *found]}.values())

    def _tidy(self, before: list[Input], slot: str) -> None:
        """Remove the seeds of the earlier turn of which ``slot``, the last one, has copies.

        Keeps entries that the turn found and afl-fuzz renumbered on resume (``orig:id:...``).
        """
        kept = self._run_dir.in_slot(slot).turn
        slots = self._run_dir.mutants / "slots"
        held = {one.digest for one in self._last or ()}
        for one in before:
            inside = one.path.is_relative_to(slots) and not one.path.is_relative_to(kept)
            start = one.path.parent.name == "seeds" or _FROM_SEEDS.search(one.path.name)
            if inside and start and one.digest in held:
                one.path.unlink(missing_ok=True)

    def _failing_of(self, slot: str) -> list[Input]:
        names = turn_instances(self._run_dir, slot)
        return gather(self._run_dir.in_slot(slot).out, names, FOLDERS)


def by_origin(kills: dict[str, str], inputs: Iterable[Input]) -> dict[str, str]:
    """Return kills (digest -> criterion) by the origins of the inputs."""
    names = {one.digest: one.origin for one in inputs}
    return {names[digest]: oracle for digest, oracle in kills.items() if digest in names}
