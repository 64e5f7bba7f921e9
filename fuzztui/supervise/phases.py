"""Who lives when: instances that fuzz mutants, if the campaign wants that, then the target's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.budget_plan import spent_on_mutants, wants_mutants
from fuzztui.fuzzfirst.context import CampaignStopping, MutantPhaseContext
from fuzztui.fuzzfirst.phase import MutantPhase
from fuzztui.instances.launcher import Launcher, instance_names
from fuzztui.instances.life import EndReason, InstanceLife
from fuzztui.instances.process import EngineProcess
from fuzztui.supervise.observation import ObservationLoop
from fuzztui.supervise.tasks import Tasks
from fuzztui.wire.events import InstanceHello, PhaseStarted

__all__ = ["CampaignPhases"]


class CampaignPhases:
    """A campaign's instances, from its first stage to its last. :meth:`run` it once."""

    def __init__(
        self,
        campaign: Campaign,
        home: RunDir,
        launcher: Launcher,
        desk: MutantPhaseContext,
        *,
        looks: ObservationLoop,
        tasks: Tasks,
    ) -> None:
        self._campaign = campaign
        self._home = home
        self._launcher = launcher
        self._desk = desk
        self._looks = looks
        self._tasks = tasks
        self.lives: dict[str, InstanceLife] = {}
        """The instances that are to live now: those of mutants' turns, or the target's."""
        self.first: MutantPhase | None = None
        """The stage of mutants, until it is over."""
        # Those who fuzz the target since its turn came, and outlived a supervisor, go on.
        target = desk.state.stage == "target" and self._target_lives()
        if campaign.mutants and not target and wants_mutants(campaign, desk.state):
            self.first = MutantPhase(campaign, home, launcher, desk)
        else:
            self._muster()

    def living(self) -> bool:
        """Whether any engine of the run is at work, from an earlier supervisor."""
        return self._target_lives() or bool(self.first and self.first.running_instances())

    async def run(self) -> None:
        """Fuzz: mutants of the target first, if the campaign says so, and then the target."""
        desk = self._desk
        if self.first is not None:
            try:
                await self.first.run()
            except CampaignStopping:
                return
            except SupervisorError as e:
                desk.end(EndReason("failed", str(e)))
                return
            if desk.leaving:
                return
            self.first = None
            self._muster()
            for life in self.lives.values():
                life.revive()  # of a campaign that was another one before
                life.paused |= desk.state.state == "paused"
            await self._looks.join([*self.lives.values()])
        if desk.state.stage == "mutants":
            desk.record(PhaseStarted("target", spent_on_mutants(desk.state, desk.now())))
        await asyncio.gather(*(self._live(life) for life in self.lives.values() if not life.over))

    async def live(self, lives: Sequence[InstanceLife], home: RunDir, mutant: str) -> None:
        """Let instances that fuzz a mutant live, observed, to their end."""
        desk = self._desk
        if desk.leaving:
            raise CampaignStopping
        where = home.out.relative_to(self._home.path)
        for life in lives:
            life.paused |= desk.state.state == "paused"
            desk.record(InstanceHello(life.name, mutant=mutant, directory=str(where / life.name)))
            life.adopt()
            self.lives[life.name] = life
        try:
            await self._looks.join(lives, mutant=True)
            await asyncio.gather(*(self._live(life) for life in lives))
        finally:
            for life in lives:
                await self._looks.leave(life.name)
                del self.lives[life.name]

    async def _live(self, life: InstanceLife) -> None:
        try:
            await life.run()
        except Exception as e:
            self._tasks.trouble(e)
            life.abandon(f"internal error: {e!r}")

    def _muster(self) -> None:
        """The target's instances come forward."""
        campaign, known = self._campaign, self._desk.state.instances
        if campaign.budget_trials:  # which mutants have used a part of
            used = sum(i.execs for i in known.values() if i.mutant)
            campaign = replace(campaign, budget_trials=max(1, campaign.budget_trials - used))
        for index, name in enumerate(instance_names(campaign)):
            self.lives[name] = InstanceLife(
                campaign,
                self._home,
                index,
                launcher=self._launcher,
                desk=self._desk,
                before=known.get(name),
            )

    def _target_lives(self) -> bool:
        own = (self._home.instance(name) for name in instance_names(self._campaign))
        return any(map(EngineProcess.adopt, own))
