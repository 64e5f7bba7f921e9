"""The start of a campaign: a new one, one whose supervisor died, or one that had ended."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import fuzztui
from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.model.passive import is_passive
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.wire.events import (
    BudgetSet,
    CampaignStarted,
    CampaignState,
    Event,
    InstanceState,
    Message,
    SupervisorStarted,
)
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.instances.launcher import TERM_GRACE_S, instance_names
from fuzztui.run.instances.life import InstanceLife
from fuzztui.run.instances.phase import Phase
from fuzztui.run.instances.process import EngineProcess
from fuzztui.run.supervise.campaign_log import CampaignLog
from fuzztui.run.supervise.observation import ObservationLoop


class CampaignStartup:
    """Starts, resumes or adopts a campaign. Call :meth:`take_up` once."""

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, log: CampaignLog, observation: ObservationLoop
    ) -> None:
        self._campaign = campaign
        self._run_dir = run_dir
        self._log = log
        self._state = log.state
        self._observation = observation

    async def take_up(
        self,
        lives: Mapping[str, InstanceLife],
        first: Phase | None,
        notes: Sequence[Message],
        *,
        first_events: Sequence[Event] = (),
        spent: bool,
    ) -> None:
        """Adopt running engines, record the new supervisor, end instances no longer configured.

        ``first``: the phase before the target's, None if it is over; ``notes``: messages to record;
        ``first_events``: events to record before ``SupervisorStarted``: with verdicts among them,
        the start can show regressions; ``spent``: whether no budget is left. The directories of
        ``lives`` are already observed.
        """
        state, campaign, record = self._state, self._campaign, self._log.record
        clock, notes = self._log.clock, list(notes)
        fresh = state.state == "empty"
        budget = (campaign.budget_s, campaign.budget_trials)
        changed = not fresh and budget != (state.budget_s, state.budget_trials)
        self._revive(lives, changed=changed, spent=spent)
        adopted = [] if fresh else [n for n, life in lives.items() if life.adopt()]
        if adopted:
            clock.count_gap()
        elif first and (adopted := first.running_instances()):
            notes += _overtime(adopted, clock.count_gap(first.remaining_turn_s()))
        if fresh or not state.engine:  # a damaged log may have lost this record
            record(campaign_started(campaign, instance_names(campaign)))
        elif changed:
            record(BudgetSet(*budget, campaign.exact_s))
        record(*first_events)
        resumed = [n for n, life in lives.items() if not life.over and n not in adopted]
        record(
            SupervisorStarted(
                pid=os.getpid(),
                wall=time.time(),
                host=socket.gethostname(),
                adopted=adopted,
                resumed=[] if fresh else resumed,
                before=[n for n in resumed if fresh and _has_run(lives[n].directory)],
                cores=usable_cpus(),
            )
        )
        if state.state not in ("running", "paused") or (not adopted and state.state != "paused"):
            record(CampaignState("starting", "" if fresh else "resumed"))
        if first:
            self._set_waiting()
        clock.save()
        record(*notes)
        await self._retire()
        self._log.flush()

    def _revive(self, lives: Mapping[str, InstanceLife], *, changed: bool, spent: bool) -> None:
        """Revive instances that have ended. ``changed``: the budget has changed."""
        # If all instances are over, the supervisor died just before it logged the campaign's end.
        ended = self._state.state in ENDED or (
            bool(lives) and all(life.over for life in lives.values())
        )
        for life in lives.values():
            life.paused |= self._state.state == "paused"
            # A campaign that ended continues as a whole. If its supervisor died, stopped instances
            # stay stopped.
            again = life.state == "failed" or (changed and life.state == "finished")
            if again or (ended and not spent):
                life.revive()

    def _set_waiting(self) -> None:
        """Record that ended instances of the target wait until the mutant phase is over."""
        for name in instance_names(self._campaign):
            if (known := self._state.instances.get(name)) and known.state in ENDED:
                reason = "the mutant phase comes first"
                self._log.record(InstanceState(name, "waiting", 0, reason, known.restarts))

    async def _retire(self) -> None:
        """End the instances of an earlier start that this campaign no longer has."""
        ours, known = instance_names(self._campaign), self._state.instances
        gone = [n for n, i in known.items() if n not in ours and not (i.mutant or is_passive(i))]
        await asyncio.gather(*(self._retire_one(n) for n in gone if known[n].state not in ENDED))

    async def _retire_one(self, name: str) -> None:
        """End one instance with SIGTERM, so that the engine writes its final counts."""
        directory, reason = self._run_dir.instance(name), "no longer part of the campaign"
        if directory.is_dir():
            self._observation.add_retired(self._run_dir, name)
        process = EngineProcess.adopt(directory)
        if process and not await process.stop(TERM_GRACE_S):
            reason += " (had to be killed)"
        await EngineProcess.kill_leftovers(self._run_dir.path, name)
        await self._observation.observe_final(name)
        restarts = self._state.instances[name].restarts
        self._log.record(InstanceState(name, "stopped", 0, reason, restarts))


def campaign_started(campaign: Campaign, instances: list[str]) -> CampaignStarted:
    """Return the event about a new campaign."""
    return CampaignStarted(
        name=campaign.name,
        engine=campaign.kind,
        target=campaign.subject,
        seed=campaign.seed,
        budget_s=campaign.budget_s,
        budget_trials=campaign.budget_trials,
        instances=instances,
        wall=time.time(),
        version=fuzztui.__version__,
        exact_s=campaign.exact_s,
    )


def _overtime(names: Sequence[str], seconds: float) -> list[Message]:
    if seconds < 1:
        return []
    text = (
        f"{', '.join(names)}: fuzzed for {seconds:.0f} s longer than the mutant's budget, because "
        "no supervisor was running to end the turn; no budget is charged for these seconds"
    )
    return [Message("info", text)]


def _has_run(directory: Path) -> bool:
    """Whether afl-fuzz ran in an instance's directory before: its fleet was adopted."""
    return (directory / "fuzzer_stats").exists()
