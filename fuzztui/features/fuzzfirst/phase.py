"""The mutant phase: each mutant of the worklist has its turn, while the phase's budget lasts.

Decisions depend on the folded state only, so that a user's commands, a restart and a replay use the
same worklist. (Paper: "Fuzzing: Two Key Decisions".)
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import shutil
from collections.abc import Coroutine

from fuzztui.features.fuzzfirst.backend import backend_for
from fuzztui.features.fuzzfirst.budget import (
    TurnBudget,
    is_parallel,
    plan_of,
    plans_target,
    target_plan,
    wants_mutants,
)
from fuzztui.features.fuzzfirst.corpora import Corpora
from fuzztui.features.fuzzfirst.fold import (
    AGAIN_BUDGET,
    best,
    budget,
    first_places,
    fuzzed_for,
    head,
    in_rounds,
    late_places,
    outlook,
)
from fuzztui.features.fuzzfirst.placed import PlacedLauncher, refuse_unfit_workers
from fuzztui.features.fuzzfirst.supply import MutantSupply
from fuzztui.features.fuzzfirst.turn import Turn, TurnResources, turn_directories
from fuzztui.features.jobs.config import ClusterConfig
from fuzztui.kernel.model.progress import AT_WORK
from fuzztui.kernel.model.stall import stuck_reason
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.events import (
    CampaignState,
    Event,
    Message,
    MutantPositions,
    MutantProgress,
    MutantsFound,
    MutantState,
    PhaseStarted,
)
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Launcher
from fuzztui.run.instances.life import EndReason
from fuzztui.run.instances.phase import CampaignStopping, PhaseContext
from fuzztui.run.instances.process import EngineProcess

_NEWS = (CampaignState, MutantProgress, MutantState, MutantPositions, MutantsFound)
"""Events that can change the worklist."""


class MutantPhase:
    """Fuzzes mutants of the target for their share of the budget. Call :meth:`run` once."""

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, launcher: Launcher, context: PhaseContext
    ) -> None:
        self._campaign = campaign
        self._run_dir = run_dir
        self._context = context
        self._backend = backend_for(campaign, run_dir)
        self._corpora = Corpora(campaign, run_dir, self._backend)
        self._supply = MutantSupply(campaign, run_dir, self._backend, context)
        if campaign.table("mutants")["cluster"]:
            launcher = PlacedLauncher(
                launcher.finish_signal, ClusterConfig.of(campaign.table("cluster"))
            )
        self._resources = TurnResources(
            campaign, run_dir, launcher, context, self._backend, self._corpora
        )
        self._left_over: list[str] = []
        """Mutants whose turn was interrupted."""
        self._turns: dict[str, bool] = {}
        """Mutants that have a turn, and whether each is fuzzed by one instance, not by all."""
        self._due = wants_mutants(campaign, context.state)
        self._why = stuck_reason(context.state)

    def on_event(self, event: Event) -> None:
        """Called with each event that was recorded."""
        if isinstance(event, _NEWS):
            self._supply.wake()

    def running_instances(self) -> list[str]:
        """Return the instances whose engines an earlier supervisor left running."""
        return [
            name
            for mutant in self._context.state.mutants.values()
            if mutant.stage == "fuzzing"
            for name, directory in turn_directories(self._run_dir, mutant.slot)
            if EngineProcess.adopt(directory)
        ]

    def remaining_turn_s(self) -> float:
        """Return the budget, in seconds, that running turns had when the last supervisor ended."""
        if self._campaign.budget_trials:
            return math.inf
        state, longest = self._context.state, 0.0
        for mutant in state.mutants.values():
            if mutant.stage == "fuzzing":
                turn_budget = TurnBudget(self._campaign, self._context, mutant.id, ())
                longest = max(longest, turn_budget.limit() - fuzzed_for(state, mutant))
        used, of = budget(state)
        return max(0.0, min(longest, of - used))

    async def run(self) -> None:
        """Run to the end of the phase.

        Raises :class:`SupervisorError` if no mutant can be made or run, and
        :class:`~fuzztui.run.instances.phase.CampaignStopping` if the campaign ends earlier.
        """
        context, state = self._context, self._context.state
        if not self._due:
            return  # the target comes first
        goes_on = state.stage == "mutants"
        context.record(PhaseStarted("mutants", plan_of(self._campaign, state), self._why))
        if in_rounds(state) and not goes_on:
            self._begin_round()
        try:
            self._run_dir.mutants.mkdir(mode=0o700, exist_ok=True)
            with contextlib.nullcontext() if self.running_instances() else context.unpaid():
                await context.abide(self._prepare())
            for mutant in [m for m in state.mutants.values() if m.stage in AT_WORK]:
                if mutant.stage == "pruning":
                    context.record(MutantProgress(mutant.id, "queued"))
                else:
                    self._left_over.append(mutant.id)
            await self._all([self._runner() for _ in range(self._campaign.instances)])
            self._ran_out()
            await asyncio.to_thread(shutil.rmtree, self._run_dir.mutants / "built", True)
        except OSError as e:
            raise SupervisorError(f"{e.filename}: {e.strerror or e}") from None
        finally:
            await self._supply.close()

    def over(self) -> PhaseStarted:
        """Return the event that ends the phase: what mutants have used is in its plan."""
        context = self._context
        return PhaseStarted("target", target_plan(self._campaign, context.state, context.now()))

    def _begin_round(self) -> None:
        """Put promoted mutants first in the new round, then those that brought most, once more.

        The latter get at most half of the round (successive halving).
        """
        state = self._context.state
        used, of = budget(state)
        each = AGAIN_BUDGET * (state.plan["each_trials"] or state.plan["each_s"])
        again = best(state.mutants.values())[: max(1, int((of - used) / 2 / each))]
        for mutant in again:
            self._context.record(
                MutantState("", mutant.id, "pending"), MutantProgress(mutant.id, "queued")
            )
        if places := first_places(state, again, self._supply.base):
            self._context.record(MutantPositions(places))

    async def _prepare(self) -> None:
        if self._campaign.table("mutants")["cluster"]:
            self._report_step("asking the workers of the cluster")
            await asyncio.to_thread(refuse_unfit_workers, self._campaign, self._run_dir)
        self._report_step("preparing the target's source for mutants")
        await self._backend.prepare(self._report_step)
        self._report_step("running the seeds on the target")
        await self._corpora.start(self._context.state)
        self._report_step("making mutants")
        await self._supply.start(self._corpora.seeds)

    def _report_step(self, message: str) -> None:
        if self._context.state.state == "starting":  # else adopted fuzzers are running
            self._context.record(CampaignState("starting", message))

    async def _all(self, runners: list[Coroutine[None, None, None]]) -> None:
        """Run all; an error of one ends the campaign, and all are waited for."""
        tasks = [asyncio.ensure_future(runner) for runner in runners]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            failed = [e for task in tasks if task.done() and (e := task.exception())]
            if failed and not self._context.leaving:
                self._context.end(EndReason("failed", str(failed[0])))
        finally:
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                raise error

    def _ran_out(self) -> None:
        """Record a message if the worklist became empty before the budget was used up."""
        view = outlook(self._context.state, self._context.now())
        if view.of and view.used < view.of and not view.waiting:
            self._context.record(Message("info", "the worklist is empty: the target phase begins"))

    async def _runner(self) -> None:
        """Run turns one after the other, while there are instances for them."""
        while (mutant := await self._next()) is not None:
            command, parallel = self._supply.command(mutant), self._turns[mutant.id]
            turn = Turn(self._resources, mutant.id, command, parallel=parallel)
            await turn.run()
            # Other mutants of a roadblock that brings nothing wait for all others.
            if places := late_places(self._context.state, self._supply.base):
                self._context.record(MutantPositions(places))
            if not self._context.leaving:  # else the turn is continued on resume
                await asyncio.to_thread(turn.tidy, self._supply.into(mutant))
            del self._turns[mutant.id]
            self._supply.wake()

    async def _next(self) -> Mutant | None:
        """Wait for the next mutant; None if the worklist is empty or the budget used up."""
        state, every = self._context.state, self._campaign.instances
        found: list[Mutant] = []

        async def find() -> None:
            while (self._left_over or not self._spent()) and not self._context.leaving:
                news, parallel = self._supply.news, is_parallel(self._campaign, state.plan)
                if self._left_over:
                    waiting = [state.mutants[self._left_over[0]]]
                else:
                    waiting = head(state, every if parallel else 1)
                    waiting = [m for m in waiting if self._supply.is_in_order(m)]
                if not waiting and not self._turns:  # a user may still requeue mutants
                    if self._supply.failure:
                        raise self._supply.failure
                    if self._supply.whole:
                        return
                # After a command has changed the use of mutants, turns keep their instances.
                busy = sum(1 if alone else every for alone in self._turns.values())
                is_room = busy + (1 if parallel else every) <= every
                may_start = is_room and (self._left_over or state.state != "paused")
                ready = (m for m in waiting if self._left_over or self._supply.is_built(m))
                if may_start and (mutant := next(ready, None)) is not None:
                    # Before any await: other runners choose mutants, too.
                    if self._left_over:
                        self._left_over.pop(0)
                    else:
                        self._context.record(MutantProgress(mutant.id, "pruning"))
                    self._turns[mutant.id] = parallel
                    found.append(mutant)
                    return
                with contextlib.suppress(TimeoutError):  # no event is recorded when the budget ends
                    async with asyncio.timeout(1.0):
                        await news.wait()

        await self._context.abide(find())
        if self._context.leaving:
            raise CampaignStopping
        return found[0] if found else None

    def _spent(self) -> bool:
        used, of = budget(self._context.state, self._context.now())
        return used >= of


def phase(
    campaign: Campaign, run_dir: RunDir, launcher: Launcher, context: PhaseContext
) -> MutantPhase | None:
    """The mutant phase, while mutants wait and have budget, and before the target's first phase."""
    state = context.state
    wanted = campaign.table("mutants") and (
        wants_mutants(campaign, state) or plans_target(campaign, state)
    )
    return MutantPhase(campaign, run_dir, launcher, context) if wanted else None
