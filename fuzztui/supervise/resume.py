"""How a supervisor takes a campaign up: again, from one that died, or again after its end."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Mapping, Sequence

import fuzztui
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir
from fuzztui.fuzzfirst.phase import MutantPhase
from fuzztui.instances.launcher import instance_names
from fuzztui.instances.life import TERM_GRACE_S, InstanceLife
from fuzztui.instances.process import EngineProcess
from fuzztui.model.oracle import FUZZLESS
from fuzztui.model.selectors import ENDED
from fuzztui.supervise.campaign_log import CampaignLog
from fuzztui.supervise.observation import ObservationLoop
from fuzztui.wire.events import (
    BudgetSet,
    CampaignStarted,
    CampaignState,
    InstanceState,
    Message,
    SupervisorStarted,
)

__all__ = ["CampaignStartup"]


class CampaignStartup:
    """What a supervisor does before anything else. :meth:`take_up` once."""

    def __init__(
        self, campaign: Campaign, home: RunDir, journal: CampaignLog, looks: ObservationLoop
    ) -> None:
        self._campaign = campaign
        self._home = home
        self._journal = journal
        self._state = journal.state
        self._looks = looks

    async def take_up(
        self,
        lives: Mapping[str, InstanceLife],
        first: MutantPhase | None,
        notes: Sequence[Message],
        *,
        spent: bool,
    ) -> None:
        """Adopt what still runs, say who supervises now, end what the campaign has no more.

        ``first``: the stage of mutants, if it is not over; ``notes``: what should be known, too;
        ``spent``: there is no budget left. The directories of ``lives`` are looked at already.
        """
        state, campaign, record = self._state, self._campaign, self._journal.record
        clock, notes = self._journal.clock, list(notes)
        fresh = state.state == "empty"
        budget = (campaign.budget_s, campaign.budget_trials)
        changed = not fresh and budget != (state.budget_s, state.budget_trials)
        self._revive(lives, changed=changed, spent=spent)
        adopted = [] if fresh else [n for n, life in lives.items() if life.adopt()]
        if adopted:
            clock.count_gap()
        elif first and (adopted := first.running_instances()):
            notes += _overtime(adopted, clock.count_gap(first.remaining_turn_s()))
        if fresh or not state.engine:  # damage of the log may have cost it this record
            record(_started(campaign))
        elif changed:
            record(BudgetSet(*budget))
        resumed = [n for n, life in lives.items() if not life.over and n not in adopted]
        record(
            SupervisorStarted(
                pid=os.getpid(),
                wall=time.time(),
                host=socket.gethostname(),
                adopted=adopted,
                resumed=[] if fresh else resumed,
            )
        )
        if state.state not in ("running", "paused") or (not adopted and state.state != "paused"):
            record(CampaignState("starting", "" if fresh else "resumed"))
        if first:
            self._ask_to_wait()
        clock.save()
        record(*notes)
        await self._retire()
        self._journal.flush()

    def _revive(self, lives: Mapping[str, InstanceLife], *, changed: bool, spent: bool) -> None:
        """Who lives again. ``changed``: the budget is another one."""
        # With all instances over, only the campaign's own end was not logged any more.
        ended = self._state.state in ENDED or (
            bool(lives) and all(life.over for life in lives.values())
        )
        for life in lives.values():
            life.paused |= self._state.state == "paused"
            # A campaign that ended continues as a whole. In one whose supervisor died, what
            # was stopped stays stopped.
            again = life.state == "failed" or (changed and life.state == "finished")
            if again or (ended and not spent):
                life.revive()

    def _ask_to_wait(self) -> None:
        """Whoever fuzzed the target before continues with it when mutants have had their turns."""
        for name in instance_names(self._campaign):
            if (known := self._state.instances.get(name)) and known.state in ENDED:
                words = "mutants come first"
                self._journal.record(InstanceState(name, "waiting", 0, words, known.restarts))

    async def _retire(self) -> None:
        """End the instances of an earlier start that this campaign has no more."""
        ours = {*instance_names(self._campaign), *FUZZLESS}
        known = self._state.instances
        gone = [name for name in known if name not in ours and not known[name].mutant]
        await asyncio.gather(*(self._retire_one(n) for n in gone if known[n].state not in ENDED))

    async def _retire_one(self, name: str) -> None:
        """As cleanly as any other: what it writes at its end is its newest count."""
        directory, reason = self._home.instance(name), "the campaign has it no more"
        if directory.is_dir():
            self._looks.at_retired(self._home, name)
        process = EngineProcess.adopt(directory)
        if process and not await process.stop(TERM_GRACE_S):
            reason += " (it had to be killed)"
        await EngineProcess.sweep(self._home.path, name)
        await self._looks.last(name)
        restarts = self._state.instances[name].restarts
        self._journal.record(InstanceState(name, "stopped", 0, reason, restarts))


def _started(campaign: Campaign) -> CampaignStarted:
    return CampaignStarted(
        name=campaign.name,
        engine=campaign.kind,
        target=campaign.subject,
        seed=campaign.seed,
        budget_s=campaign.budget_s,
        budget_trials=campaign.budget_trials,
        instances=instance_names(campaign),
        wall=time.time(),
        version=fuzztui.__version__,
    )


def _overtime(names: Sequence[str], seconds: float) -> list[Message]:
    """A word on what fuzzed a mutant for so much longer than it should."""
    if seconds < 1:
        return []
    words = f"fuzzed for {seconds:.0f} s longer than the mutant's budget"
    why = "while there was no supervisor to end that: no budget pays for it"
    return [Message("info", f"{', '.join(names)}: {words}, {why}")]
