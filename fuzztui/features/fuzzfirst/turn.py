"""One mutant's turn: prune the corpus, fuzz the mutant, transfer what was found to the target.

Each step is recorded before it starts, so that an interrupted turn is continued when the campaign
is resumed.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuzztui.features.fuzzfirst.budget import TurnBudget
from fuzztui.features.fuzzfirst.build import MutantBackend
from fuzztui.features.fuzzfirst.corpora import Corpora, turn_instances, turn_number
from fuzztui.features.fuzzfirst.fold import UNWANTED
from fuzztui.features.fuzzfirst.showmap import Unrunnable
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.events import Message, MutantProgress, MutantState
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import TERM_GRACE_S, Launcher, instance_names
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.instances.phase import PhaseContext
from fuzztui.run.instances.process import EngineProcess
from fuzztui.run.process.identity import marked
from fuzztui.run.process.reaper import children

AGAIN_S = 5.0
"""Seconds between two attempts of a step that fails for a temporary reason."""

LOOK_S = 0.1
"""Seconds between two checks whether a turn is over."""

MAX_LEFT_BEHIND = 300
"""Processes left behind by a mutant above which its turn ends."""


def turn_directories(run_dir: RunDir, slot: str) -> list[tuple[str, Path]]:
    """Return the instances of a turn and their directories."""
    out = run_dir.in_slot(slot).out
    return [(name, out / name) for name in turn_instances(run_dir, slot)]


@dataclass(frozen=True, slots=True)
class TurnResources:
    """The objects that all turns of a campaign share."""

    campaign: Campaign
    run_dir: RunDir
    launcher: Launcher
    context: PhaseContext
    backend: MutantBackend
    corpora: Corpora


class Turn:
    """The turn of the mutant ``key``; ``command`` runs the mutant, (): its program is gone.

    ``parallel``: one instance fuzzes the mutant, from the seeds; else all do, from the last corpus.
    """

    def __init__(
        self, resources: TurnResources, key: str, command: Sequence[str], *, parallel: bool
    ) -> None:
        self._campaign = resources.campaign
        self._launcher = resources.launcher
        self._context = resources.context
        self._backend = resources.backend
        self._corpora = resources.corpora
        self._key = key
        self._command = command
        self._slots = resources.run_dir.mutants / "slots"
        known = self._mutant.stage in ("fuzzing", "collecting") and self._mutant.slot
        self._slot = self._mutant.slot if known else self._new_slot()
        self._run_dir = resources.run_dir.in_slot(self._slot)
        self._parallel = parallel
        self._part = replace(
            self._campaign,
            slot=self._slot,
            instances=1 if parallel else self._campaign.instances,
            seed=self._campaign.seed + 1009 * turn_number(self._slot),
            budget_s=0.0,
        )
        self._names = instance_names(self._part)
        self._budget = TurnBudget(self._campaign, self._context, key, self._names)
        self._left_behind = 0
        """Number of orphaned processes of the mutant, if there are many."""

    @property
    def _mutant(self) -> Mutant:
        return self._context.state.mutants[self._key]

    @property
    def _is_wanted(self) -> bool:
        """Whether the mutant has its turn even if the seeds reach less on it."""
        return self._mutant.hides > 0 or self._mutant.steer == "promoted"

    async def run(self) -> None:
        """Run the turn to its end.

        Raises ``CampaignStopping``, or ``SupervisorError`` if the target itself cannot be run.
        """
        if self._mutant.stage not in ("fuzzing", "collecting"):
            self._record_progress("pruning")
            try:
                await self._context.abide(self._persistently(self._prune))
            except Unrunnable as e:
                self._record_progress("refused", str(e))
        if self._mutant.stage == "fuzzing":
            await self._fuzz()
        if self._mutant.stage == "collecting":
            await self._context.abide(self._persistently(self._collect))

    async def _persistently(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run ``step``, and repeat it while it fails for a temporary reason, such as a full disk.

        Ends if a user skips the mutant. Raises :class:`Unrunnable`.
        """
        reported = ""
        while True:
            try:
                return await step()
            except Unrunnable:
                raise
            except (SupervisorError, OSError) as e:
                message = str(e)
            if self._mutant.state in UNWANTED:
                self._record_progress("refused", f"given up: {message}")
                return
            if message != reported:
                reported = message
                self._context.record(Message("error", f"{self._slot}: {message}; trying again"))
            await asyncio.sleep(AGAIN_S)

    def tidy(self, built: Path) -> None:
        """Remove files that are not needed after the turn. Blocks. Saved inputs stay."""
        for directory in (built, self._run_dir.cwd):
            shutil.rmtree(directory, ignore_errors=True)
        for name in self._names:
            with contextlib.suppress(OSError):
                (self._run_dir.supervisor / f"statsd-{name}.json").unlink(missing_ok=True)

    def _new_slot(self) -> str:
        """Return the next turn's name: turns are numbered in the order in which they start."""
        used = [turn_number(mutant.slot) for mutant in self._context.state.mutants.values()]
        used += [turn_number(name) for name in self._context.state.instances]
        used += [turn_number(path.name) for path in self._slots.glob("*")]
        return f"{self._campaign.name_prefix}m{1 + max(used, default=0)}"

    def _record_progress(
        self,
        stage: str,
        reason: str = "",
        costs: Mapping[str, float] | None = None,
        brought: Mapping[str, int] | None = None,
    ) -> None:
        rounded = {name: round(seconds, 3) for name, seconds in (costs or {}).items()}
        self._context.record(
            MutantProgress(self._key, stage, self._slot, reason, rounded, dict(brought or {}))
        )

    # ------------------------------------------------------------------ pruning

    async def _prune(self) -> None:
        begun = time.monotonic()
        await asyncio.to_thread(shutil.rmtree, self._run_dir.turn, ignore_errors=True)
        await asyncio.to_thread(self._run_dir.out.mkdir, 0o700, parents=True)
        batch = self._backend.batch(self._command, self._slot)
        pruned = await self._corpora.prepare_turn(
            self._key, self._slot, batch, parallel=self._parallel
        )
        kills = len(self._corpora.matrix.killers(self._key))
        brought = {"kept": len(pruned.kept), "aside": len(pruned.aside), "kills": kills}
        costs = {"prune": time.monotonic() - begun}
        if self._mutant.state in UNWANTED:
            self._record_progress("done", self._mutant.state, costs, brought)
            self._judge()
        elif pruned.kept and pruned.lost and not self._is_wanted:
            # Else a restart would take these seeds for what a turn has left.
            await asyncio.to_thread(shutil.rmtree, self._run_dir.seeds, ignore_errors=True)
            self._record_progress("refused", pruned.lost, costs, brought)
            self._judge()
        elif pruned.kept or not pruned.aside:  # in-process engines can start without seeds
            self._record_progress("fuzzing", "", costs, brought)
        else:
            n = len(pruned.aside)
            those = f"all {n} inputs" if n > 1 else "the only input"
            message = f"the mutant fails on {those} that it could start from"
            self._record_progress("refused", message, costs, brought)
            self._judge()

    def _judge(self) -> None:
        """Record the verdict: killed if any input kills the mutant, alive if fuzzed without."""
        mutant = self._mutant
        if killed := self._corpora.matrix.verdict(mutant):
            self._context.record(killed)
        elif mutant.state == "pending" and mutant.stage == "done":
            self._context.record(MutantState("", self._key, "alive", steer=mutant.steer))

    # ------------------------------------------------------------------ fuzzing

    async def _fuzz(self) -> None:
        """Fuzz until the budget is used up, a user skips the mutant, or the campaign ends."""
        self._budget.begin()
        await self._stop_surplus()
        enough = self._end_reason()
        living = [name for name, place in self._directories() if EngineProcess.adopt(place)]
        lived = False
        while not enough or living:  # running instances are observed until they have ended
            lives = self._make_lives()
            for life in lives if enough else ():
                if life.name not in living:  # its directory is read, but it is not started again
                    await life.end(EndReason("finished", enough))
            await self._run_lives(lives)
            lived = True
            if self._context.leaving:
                return  # continued when the campaign is resumed
            living, enough = [], self._end_reason() or self._early_end(lives)
        if self._budget.executed() or self._mutant.state in UNWANTED:
            self._record_progress("collecting", enough)
        elif lived and self._budget.has_begun:
            self._record_progress("refused", enough)
            self._judge()
        else:  # no budget was left, or no worker of the cluster was free
            self._record_progress("queued")

    def _early_end(self, lives: Sequence[InstanceLife]) -> str:
        """Return why engines ended before the turn did; "" if they are started again.

        Engines that used up a budget of executions are started again: the turn only goes on after
        that if the mutant was promoted meanwhile.
        """
        states = {life.state for life in lives}
        if self._budget.in_trials and states == {"finished"}:
            return ""
        reasons = (self._context.state.instances[life.name].reason for life in lives)
        return next(filter(None, reasons), "all instances have ended")

    async def _stop_surplus(self) -> None:
        """Stop engines of the turn left from a time when the campaign had more instances."""
        for name, place in self._directories():
            if name not in self._names and (process := EngineProcess.adopt(place)):
                await process.stop(TERM_GRACE_S)

    def _directories(self) -> list[tuple[str, Path]]:
        return turn_directories(self._run_dir, self._slot)

    def _make_lives(self) -> list[InstanceLife]:
        """Return the turn's instances: with the campaign's options, on the mutant."""
        target = self._backend.target(self._command) if self._command else self._part.target
        if self._campaign.table("mutants")["cwd"] == "private":
            target = {**target, "cwd": str(self._run_dir.cwd)}
        trials = int(self._budget.limit()) if self._budget.in_trials else 0
        part = replace(self._part, target=target, budget_trials=trials)
        known = self._context.state.instances
        lives = [
            InstanceLife(
                part,
                self._run_dir,
                index,
                launcher=self._launcher,
                context=self._context,
                before=known.get(name),
            )
            for index, name in enumerate(self._names)
        ]
        for life in lives:
            life.revive()
        return lives

    async def _run_lives(self, lives: Sequence[InstanceLife]) -> None:
        """Run instances until the turn is over; try again after errors such as a full disk."""
        reported = False
        while True:
            ends = asyncio.ensure_future(self._end_in_time(lives))
            try:
                await asyncio.to_thread(self._run_dir.cwd.mkdir, 0o700, parents=True, exist_ok=True)
                await self._context.live(lives, self._run_dir, self._key)
                return
            except OSError as e:  # a full disk
                if not reported:
                    reported = True
                    message = f"{self._slot}: {e.filename or self._run_dir.turn}: {e.strerror or e}"
                    self._context.record(Message("error", f"{message}; trying again"))
            finally:
                ends.cancel()
                await asyncio.gather(ends, return_exceptions=True)
            if self._end_reason():
                return
            await self._context.abide(asyncio.sleep(AGAIN_S))

    async def _end_in_time(self, lives: Sequence[InstanceLife]) -> None:
        started = time.monotonic()
        before = children()
        message = ""
        while not message:
            await asyncio.sleep(LOOK_S)
            try:
                await self._count(before)
                if "start" not in self._mutant.costs and self._budget.executed():
                    self._record_progress("fuzzing", "", {"start": time.monotonic() - started})
                message = self._end_reason()
            except Exception as e:  # otherwise the instances would never be ended
                message = f"internal error: {e!r}"
        for life in lives:
            self._context.end_one(life, EndReason("finished", message))

    async def _count(self, before: int) -> None:
        """Count the mutant's orphaned processes, if the supervisor has many new children."""
        if children() - before > MAX_LEFT_BEHIND:
            ours = [await asyncio.to_thread(marked, self._run_dir.path, n) for n in self._names]
            self._left_behind = sum(map(len, ours))

    def _end_reason(self) -> str:
        if not self._command:
            return "the mutant's program is gone"
        if self._left_behind > MAX_LEFT_BEHIND:
            return f"the mutant left {self._left_behind} processes behind, which are killed"
        return self._budget.end_reason()

    # --------------------------------------------------------------- collecting

    async def _collect(self) -> None:
        begun = time.monotonic()
        batch = self._backend.batch(self._command, self._slot) if self._command else None
        result = await self._corpora.transfer_turn(
            self._key, self._slot, batch, self._command, parallel=self._parallel
        )
        if result.trouble:
            self._context.record(Message("warning", f"{self._slot}: {result.trouble}"))
        before = self._mutant.turn_results.get("edges", 0)
        brought = {**result.brought, "edges": max(before, result.edges)}
        self._record_progress("done", "", {"handover": time.monotonic() - begun}, brought)
        self._judge()
        self._update_earlier_turns(result.by_slot)

    def _update_earlier_turns(self, by_slot: Mapping[str, dict[str, int]]) -> None:
        """Record the transfers of earlier turns that have increased."""
        for mutant in list(self._context.state.mutants.values()):
            over = mutant.stage == "done" and mutant.slot in by_slot
            if over and (more := by_slot[mutant.slot]).items() - mutant.turn_results.items():
                self._context.record(
                    MutantProgress(
                        mutant.id, "done", mutant.slot, brought=mutant.turn_results | more
                    )
                )
