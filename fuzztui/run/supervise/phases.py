"""The phases of a campaign: instances that fuzz mutants, if configured, then the target's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from fuzztui.kernel.model.feature import own_features
from fuzztui.kernel.wire.events import InstanceHello, PhaseStarted
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Launcher, instance_names
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.instances.phase import CampaignStopping, Phase, PhaseContext
from fuzztui.run.instances.process import EngineProcess
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
        """The phase before the target's; None if there is none, or once it is over."""
        # Target instances that still run (an earlier supervisor started them) continue.
        if not (context.state.stage == "target" and self._target_lives()):
            of = (campaign, run_dir, launcher, context)
            makers = (f.load(f.phase) for f in own_features() if f.phase)
            found = (make(*of) for make in makers)
            self.first = next(filter(None, found), None)
        if self.first is None:
            self._create_lives()

    def living(self) -> bool:
        """Whether any engine of the run is alive, started by an earlier supervisor."""
        return self._target_lives() or bool(self.first and self.first.running_instances())

    async def run(self) -> None:
        """Run the phase before the target's, if there is one, then the target's instances."""
        context, first = self._context, self.first
        if first is not None:
            try:
                await first.run()
            except CampaignStopping:
                return
            except SupervisorError as e:
                context.end(EndReason("failed", str(e)))
                return
            if context.leaving:
                return
            self.first = None
            self._create_lives()
            for life in self.lives.values():
                life.revive()  # ended if the run had a campaign without mutants before
                life.paused |= context.state.state == "paused"
            await self._observation.join_running([*self.lives.values()])
        if context.state.stage == "mutants":
            plan = dict(context.state.plan)
            context.record(first.over() if first else PhaseStarted("target", plan))
        await asyncio.gather(*(self._live(life) for life in self.lives.values() if not life.over))

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
