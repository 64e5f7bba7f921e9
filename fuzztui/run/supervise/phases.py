"""The phases of a campaign: instances that fuzz mutants, if configured, then the target's.

The target's phase ends early if the plan says when the target is stuck: then mutants have another
phase, and so on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from fuzztui.kernel.model.feature import own_features
from fuzztui.kernel.model.stall import stuck_reason
from fuzztui.kernel.wire.events import InstanceHello, InstanceState, PhaseStarted
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.instances.launcher import Launcher, instance_names
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.instances.phase import CampaignStopping, Phase, PhaseContext
from fuzztui.run.instances.process import EngineProcess
from fuzztui.run.supervise.ending import StuckWatch
from fuzztui.run.supervise.observation import ObservationLoop
from fuzztui.run.supervise.tasks import Tasks


class CampaignPhases:
    """The instances of a campaign, phase by phase. Call :meth:`run` once."""

    def __init__(
        self,
        campaign: Campaign,
        run_dir: RunDir,
        launcher: Launcher,
        context: PhaseContext,
        *,
        observation: ObservationLoop,
        tasks: Tasks,
    ) -> None:
        self._campaign = campaign
        self._run_dir = run_dir
        self._launcher = launcher
        self._context = context
        self._observation = observation
        self._tasks = tasks
        self.lives: dict[str, InstanceLife] = {}
        """The instances of the current phase: of mutants' turns, or of the target."""
        self.first: Phase | None = None
        """The phase that comes before the target's now; None while the target has its own."""
        # Target instances that still run (an earlier supervisor started them) continue.
        if not (context.state.stage == "target" and self._target_lives()):
            self.first = self._phase_before_target()
        self._stuck = StuckWatch()
        if self.first is None:
            self._create_lives()

    def living(self) -> bool:
        """Whether any engine of the run is alive, started by an earlier supervisor."""
        return self._target_lives() or bool(self.first and self.first.running_instances())

    async def run(self) -> None:
        """Run the phase before the target's, if there is one, then the target's instances.

        Both again as long as these end because the target is stuck.
        """
        context = self._context
        try:
            while True:
                await self._begin_target()
                lives = [life for life in self.lives.values() if not life.over]
                await asyncio.gather(*map(self._live, lives))
                if context.leaving or not stuck_reason(context.state):
                    return
                self._leave_target()
        except CampaignStopping:
            return
        except SupervisorError as e:
            context.end(EndReason("failed", str(e)))

    async def _begin_target(self) -> None:
        """Run the phase that comes first, then make the target's instances, if there are none.

        Raises SupervisorError with the reason why the campaign fails, and CampaignStopping.
        """
        context, first = self._context, self.first
        if first is not None:
            await first.run()
            if context.leaving:
                raise CampaignStopping
            context.record(first.over())
            self.first = None
        elif context.state.stage == "mutants" or not self.lives:  # mutants have no turns any more
            plan = {**context.state.plan, "stuck_s": 0.0, "stuck_trials": 0}
            context.record(PhaseStarted("target", plan))
        if self.lives:
            return
        self._create_lives()
        for life in self.lives.values():
            if life.state != "stopped":
                life.revive()  # ended if the run had a campaign without mutants before
            life.paused |= context.state.state == "paused"
        await self._observation.join_running([*self.lives.values()])

    def _leave_target(self) -> None:
        """Let the target's instances, which are stuck, wait for the mutants."""
        state = self._context.state
        self.first, reason = self._phase_before_target(), stuck_reason(state)
        for name, life in self.lives.items():
            if life.state == "finished":
                now = "paused" if life.paused else "waiting"  # one that a user has paused stays so
                self._context.record(InstanceState(name, now, 0, reason, life.restarts))
        self.lives.clear()  # their directories are observed as before

    def end_if_stuck(self, running_s: float) -> None:
        """End the target's instances if the target is stuck, unless an engine decides that itself.

        ``running_s``: campaign time without pauses.
        """
        state = self._context.state
        if self.first is not None or state.stage != "target" or self._engine_decides:
            return
        if reason := self._stuck.reached(state, running_s):
            for life in self.lives.values():
                self._context.end_one(life, EndReason("finished", reason))

    @property
    def _engine_decides(self) -> bool:
        """Whether the only engine counts its trials until it is stuck: in each run the same."""
        campaign = self._campaign
        return campaign.kind != AFL and campaign.instances == 1 and campaign.budget_trials > 0

    def _phase_before_target(self) -> Phase | None:
        of = (self._campaign, self._run_dir, self._launcher, self._context)
        makers = (f.load(f.phase) for f in own_features() if f.phase)
        return next(filter(None, (make(*of) for make in makers)), None)

    async def live(self, lives: Sequence[InstanceLife], run_dir: RunDir, mutant: str) -> None:
        """Run and observe the instances of a mutant's turn until they end."""
        context = self._context
        if context.leaving:
            raise CampaignStopping
        where = run_dir.out.relative_to(self._run_dir.path)
        for life in lives:
            life.paused |= context.state.state == "paused"
            context.record(
                InstanceHello(life.name, mutant=mutant, directory=str(where / life.name))
            )
            life.adopt()
            self.lives[life.name] = life
        try:
            await self._observation.join_running(lives, mutant=True)
            await asyncio.gather(*(self._live(life) for life in lives))
        finally:
            for life in lives:
                await self._observation.remove(life.name)
                del self.lives[life.name]

    async def _live(self, life: InstanceLife) -> None:
        try:
            await life.run()
        except Exception as e:
            self._tasks.report_error(e)
            life.abandon(f"internal error: {e!r}")

    def _create_lives(self) -> None:
        """Create the target's instances."""
        campaign, known = self._campaign, self._context.state.instances
        if campaign.budget_trials:  # without the trials that the mutant phase has used
            used = sum(i.stats.execs for i in known.values() if i.mutant)
            campaign = replace(campaign, budget_trials=max(1, campaign.budget_trials - used))
        if self._engine_decides:
            plan = self._context.state.plan
            limit, since = (int(plan.get(name, 0)) for name in ("stuck_trials", "stuck_from"))
            campaign = replace(campaign, stuck_trials=limit, stuck_from=since)
        for index, name in enumerate(instance_names(campaign)):
            self.lives[name] = InstanceLife(
                campaign,
                self._run_dir,
                index,
                launcher=self._launcher,
                context=self._context,
                before=known.get(name),
            )

    def _target_lives(self) -> bool:
        own = (self._run_dir.instance(name) for name in instance_names(self._campaign))
        return any(map(EngineProcess.adopt, own))
