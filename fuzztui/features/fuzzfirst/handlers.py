"""Handlers of the commands that change the worklist.

The worklist is in the log (:mod:`fuzztui.features.fuzzfirst.fold`): each handler records a few
events, so that the change outlasts restarts and is visible in a replay.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fuzztui.features.fuzzfirst.budget import switched
from fuzztui.features.fuzzfirst.fold import can_go_on, goes_on, queue
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.progress import AT_WORK, WAITING
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.commands import (
    MarkEquivalent,
    MoveMutants,
    PromoteMutants,
    RequeueMutants,
    RestoreMutants,
    SkipMutants,
    UseMutants,
)
from fuzztui.kernel.wire.events import (
    Event,
    MutantPositions,
    MutantProgress,
    MutantState,
    PhaseStarted,
)
from fuzztui.kernel.wire.selection import SelectionError, parse_selection
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler, Progress, Service


class WorklistKeeper(Service):
    """The worklist of a running fuzz-first campaign.

    :param record: logs events, which are then in ``state``.
    """

    directory = MUTANT_INPUTS

    def __init__(self, campaign: Campaign, state: State, record: Callable[..., None]) -> None:
        self._campaign = campaign
        self._state = state
        self._record = record

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers for the mutants, by command name."""
        return {
            name: self.with_hints(handler)
            for name, handler in (
                (MoveMutants.name, self.move),
                (SkipMutants.name, self.skip),
                (PromoteMutants.name, self.promote),
                (RequeueMutants.name, self.requeue),
                (MarkEquivalent.name, self.equivalent),
                (RestoreMutants.name, self.restore),
            )
        } | {UseMutants.name: self.use}

    def with_hints(self, handler: Callable[..., Awaitable[str]]) -> Handler:
        """Wrap a handler: its answer also says what the command does not do in this phase."""

        async def handle(command: Any, progress: Progress) -> str:
            message: str = await handler(command, progress)
            if goes_on(self._state):
                message += "; mutants have turns again when the target is stuck"
            elif self._state.stage != "mutants" and queue(self._state):
                message += "; to fuzz mutants again, stop and resume the campaign"
            if self._growing and parse_selection(command.select).conditions:
                message += "; mutants that are listed later are not included"
            return message

        return handle

    async def move(self, command: MoveMutants, progress: Progress) -> str:
        """Move mutants in the worklist."""
        moved = self._waiting(command.select)
        order = queue(self._state)
        keys = {m.id for m in moved}
        rest = [m for m in order if m.id not in keys]
        at = order.index(moved[0])
        places = {
            "first": 0,
            "last": len(rest),
            "up": max(0, at - 1),
            "down": min(len(rest), at + 1),
        }
        if command.to not in places:
            raise SupervisorError(
                f"move to {command.to!r} is unknown; choose one of {', '.join(places)}"
            )
        self._record(MutantPositions(self._before(rest, places[command.to], moved)))
        return f"{_count(moved)} moved {command.to}"

    async def promote(self, command: PromoteMutants, progress: Progress) -> str:
        """Move mutants to the front, with a larger budget; a mutant being fuzzed gets that, too."""
        chosen = self._chosen(command.select, (*WAITING, "fuzzing"))
        waiting = [m for m in chosen if m.stage in WAITING]
        keys = {m.id for m in waiting}
        rest = [m for m in queue(self._state) if m.id not in keys]
        events: list[Event] = [
            MutantState("", m.id, m.state, m.killer, m.oracle, detail=m.detail, steer="promoted")
            for m in chosen
        ]
        if waiting:
            events.append(MutantPositions(self._before(rest, 0, waiting)))
        self._record(*events)
        return f"{_count(chosen)} promoted: next, and with three times the budget"

    async def skip(self, command: SkipMutants, progress: Progress) -> str:
        """Exclude mutants. If one is being fuzzed, end its turn and transfer its corpus."""
        chosen = self._chosen(command.select, (*WAITING, "pruning", "fuzzing"))
        self._record(*(MutantState("", m.id, "skipped", reason="by hand") for m in chosen))
        return f"{_count(chosen)} skipped"

    async def equivalent(self, command: MarkEquivalent, progress: Progress) -> str:
        """Record the user's verdict that no input can kill these mutants."""
        chosen = [m for m in self._selected(command.select) if m.state != "killed"]
        if not chosen:
            raise SupervisorError(
                "killed mutants are not equivalent: an input distinguishes them from the original"
            )
        reason = command.because
        self._record(*(MutantState("", m.id, "equivalent", reason=reason) for m in chosen))
        return f"{_count(chosen)} marked equivalent"

    async def requeue(self, command: RequeueMutants, progress: Progress) -> str:
        """Reset mutants and put them into the worklist again, at the position of their rank."""
        chosen = [m for m in self._selected(command.select) if m.stage not in AT_WORK]
        if not chosen:
            raise SupervisorError("the mutant has its turn now; skip it first")
        pending = (MutantState("", m.id, "pending") for m in chosen)
        self._record(*pending, *(MutantProgress(m.id, "queued") for m in chosen))
        return f"{_count(chosen)} queued again"

    async def restore(self, command: RestoreMutants, progress: Progress) -> str:
        """Set mutants back to an earlier state and position. A turn that began since then goes on.

        Seconds and results of a turn that was over are not restored.
        """
        chosen = self._selected(command.select)
        events: list[Event] = []
        for m in chosen:
            if command.stage and m.stage in WAITING:
                events.append(MutantProgress(m.id, command.stage, reason=command.because))
            if m.state == "killed" and command.state != "killed":
                continue
            kill = command.kills.get(m.id, [m.killer, m.oracle, m.trial, m.detail])
            match kill:
                case [str(killer), str(oracle), int(trial), str(detail)]:
                    pass
                case _:
                    raise SupervisorError(f"{m.id}: this is not a kill: {kill!r:.60}")
            events.append(
                MutantState(
                    "", m.id, command.state, killer, oracle, trial, detail, command.because,
                    command.steer,
                )
            )  # fmt: skip
        places = {m.id: place for m in chosen if (place := command.places.get(m.id)) is not None}
        if places:
            events.append(MutantPositions(places))
        self._record(*events)
        return f"{_count(chosen)} as before"

    async def use(self, command: UseMutants, progress: Progress) -> str:
        """Let instances share mutants in another way, from the next turn on."""
        self._check_phase()
        campaign, count = self._campaign, self._campaign.instances
        problem = command.problem
        if campaign.table("mutants")["cluster"]:
            problem = "mutants.cluster fuzzes each mutant on one worker: parallel only"
        elif count == 1:
            problem = "engine.instances is 1: one instance fuzzes one mutant at a time"
        if problem:
            raise SupervisorError(problem)
        plan = switched(campaign, self._state.plan, command.use)
        self._record(PhaseStarted(self._state.stage, plan))
        if command.use == "parallel":
            return f"from the next turn on, each of {count} instances fuzzes a mutant of its own"
        return f"from the next turn on, all {count} instances fuzz one mutant at a time"

    # ---------------------------------------------------------------- selecting

    def _check_phase(self) -> None:
        """Raise SupervisorError if no mutant can have a turn any more."""
        if self._state.stage != "mutants" and not can_go_on(self._state):
            raise SupervisorError(
                "the mutant phase is over and its budget used up; stop the campaign and resume it "
                "with a larger campaign.budget, of which mutants get their share"
            )

    def _selected(self, select: str) -> list[Mutant]:
        self._check_phase()
        try:
            found = parse_selection(select).of(self._state.mutants.values())
        except SelectionError as e:
            raise SupervisorError(str(e)) from None
        if not found:
            so_far = "; mutants are still being listed" if self._growing else ""
            raise SupervisorError(f"no mutant matches {select!r}{so_far}")
        return found

    @property
    def _growing(self) -> bool:
        """Whether mutants are still being listed."""
        return self._state.stage == "mutants" and "listed" not in self._state.plan

    def _chosen(self, select: str, stages: tuple[str, ...]) -> list[Mutant]:
        """Return the pending or killed mutants in one of ``stages``, in the worklist's order."""
        found = self._selected(select)
        chosen = [m for m in found if m.stage in stages and m.state in ("pending", "killed")]
        if not chosen:
            said = found[0].state if found[0].state != "pending" else found[0].stage
            raise SupervisorError(f"{found[0].id} is not waiting ({said}); requeue it first")
        return sorted(chosen, key=lambda m: (m.place, m.seq))

    def _waiting(self, select: str) -> list[Mutant]:
        found = self._selected(select)
        order = queue(self._state)
        keys = {m.id for m in found}
        waiting = [m for m in order if m.id in keys]
        if not waiting:
            raise SupervisorError(f"{found[0].id} is not waiting for its turn ({found[0].stage})")
        return waiting

    @staticmethod
    def _before(rest: list[Mutant], at: int, moved: list[Mutant]) -> dict[str, float]:
        """Return positions for ``moved``, in their order, before the mutant ``rest[at]``."""
        low = rest[at - 1].place if at > 0 else None
        high = rest[at].place if at < len(rest) else None
        if low is None:
            low = (high if high is not None else 0.0) - len(moved) - 1.0
        if high is None:
            high = low + len(moved) + 1.0
        step = (high - low) / (len(moved) + 1)
        places = {m.id: low + step * n for n, m in enumerate(moved, 1)}
        if step < _NARROW:  # after some fifty moves into one gap: renumber all
            whole = [*rest[:at], *moved, *rest[at:]]
            first = min(m.place for m in whole)
            return {m.id: first + n for n, m in enumerate(whole)}
        return places


_NARROW = 1e-9
"""Distance of positions below which all positions are renumbered."""


def _count(mutants: list[Mutant]) -> str:
    return several(len(mutants), "mutant")
