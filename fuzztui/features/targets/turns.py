"""The service that gives targets their turns, while they need more cores than there are."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fuzztui.features.targets.fold import TargetRows
from fuzztui.features.targets.shares import Account, fits, give_turns, shares
from fuzztui.kernel.model.selectors import ENDED, WAITS_FOR_TURN
from fuzztui.kernel.wire.commands import AddSeed, WeighTarget
from fuzztui.kernel.wire.events import Event, InstanceHello, Message, TargetShares
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler, Progress, Service, ServiceContext
from fuzztui.run.supervise.target_launcher import PAUSED_FILE

TURN_S = 20.0
"""Seconds of a turn: much longer than it takes to pause and resume an engine."""


class TargetTurns(Service):
    """Decides which targets run. A target without a turn rests: its engines are paused."""

    again_s = 1.0

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        campaign = context.campaign
        self._cores = campaign.cores or len(os.sched_getaffinity(0))
        logged = context.state.part(TargetRows).targets
        self._accounts = {
            part.name: Account.of(
                min(part.loaded.campaign.instances, self._cores),
                part.weight,
                logged.get(part.name, {}),
            )
            for part in campaign.targets
        }
        self._runs: set[str] = set()
        self._seen_s = context.now()
        self._turn_s = -TURN_S
        """Campaign time at which the present turns have begun."""
        self._given_s = 0.0
        """Core seconds since the last turns were given."""
        self._were_able: set[str] = set()
        """The targets that could run then."""

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of commands that name a target, or would have to."""
        return {WeighTarget.name: self._weigh, AddSeed.name: self._refuse_seed}

    async def _refuse_seed(self, command: AddSeed, progress: Progress) -> str:
        where = self._context.run_dir.path / "targets"
        raise SupervisorError(
            f"a seed is for one target: fuzztui ctl {where}/NAME add-seed {command.file}"
        )

    async def _weigh(self, command: WeighTarget, progress: Progress) -> str:
        if problem := command.problem:
            raise SupervisorError(problem)
        account = self._accounts.get(command.target)
        if account is None:
            names = ", ".join(self._accounts)
            raise SupervisorError(
                f"there is no target {command.target[:40]!r}; the targets are {names}"
            )
        account.weight = command.weight
        self._give_turns()
        return f"the weight of {command.target} is {command.weight:g}{self._none()}"

    def _none(self) -> str:
        """That no target runs, as all are off; else an empty string."""
        is_any = any(account.weight for account in self._accounts.values())
        return "" if is_any else "; all weights are 0 now, so that no target runs: raise one"

    def at_start(self) -> list[Event]:
        """Warn if the user has set all weights to 0 before."""
        return [Message("warning", none.lstrip("; "))] if (none := self._none()) else []

    def saw(self, event: Event) -> None:
        """Let a target's engines rest that were started without a turn."""
        if isinstance(event, InstanceHello) and event.instance in self._accounts:
            self._let(event.instance)

    async def run(self) -> None:
        """Count the time and the edges of the targets; change turns when it is time."""
        state, now = self._context.state, self._context.now()
        passed, self._seen_s = max(0.0, now - self._seen_s), now
        for name, account in self._accounts.items():
            if (instance := state.instances.get(name)) is None:
                continue
            account.found(max(0, instance.stat("edges")))
            if name in self._runs and instance.state == "running":
                account.spend(passed * account.cores)
                self._given_s += passed * account.cores
        if self._able().keys() != self._were_able or now - self._turn_s >= TURN_S:
            self._give_turns()

    async def finish(self) -> None:
        """Record the final figures: the shares are those of the time that was used."""
        self._runs = set()
        used_s = sum(account.core_s for account in self._accounts.values())
        parts = {
            name: account.core_s / used_s for name, account in self._accounts.items() if used_s
        }
        self._record(parts)

    def _able(self) -> dict[str, Account]:
        """The targets that can run: all but those that have ended, or that a user has paused."""
        found = {}
        for name, account in self._accounts.items():
            instance = self._context.state.instances.get(name)
            paused = instance and instance.state == "paused" and instance.reason != WAITS_FOR_TURN
            paused = paused or self._is_paused_there(name)
            if instance is None or not (paused or instance.state in ENDED):
                found[name] = account
        return found

    def _give_turns(self) -> None:
        able = self._able()
        self._were_able = set(able)
        if fits(able.values(), self._cores):
            runs = {name for name, account in able.items() if account.weight}
        else:
            runs = set(give_turns(able, self._cores, self._given_s))
        self._given_s = 0.0
        self._turn_s = self._context.now()
        self._runs = runs
        for name in self._accounts:
            self._let(name)
        self._record(shares(able))

    def _record(self, given: Mapping[str, float]) -> None:
        self._context.record(
            TargetShares(
                {
                    name: {
                        "share": round(given.get(name, 0.0), 4),
                        "weight": account.weight,
                        "runs": name in self._runs,
                        "core_s": round(account.core_s, 1),
                        "edges": account.edges,
                        "lately_s": round(account.lately_s, 1),
                        "lately_edges": round(account.lately_edges, 2),
                    }
                    for name, account in self._accounts.items()
                }
            )
        )

    def _let(self, name: str) -> None:
        """Let a target run, or rest."""
        self._context.rest(name, "" if name in self._runs else WAITS_FOR_TURN)

    def _is_paused_there(self, name: str) -> bool:
        """Whether a user has paused a target in the target's own run."""
        return (self._context.run_dir.instance(name) / PAUSED_FILE).exists()
