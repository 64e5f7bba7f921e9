"""One mutant's turn: prune the corpus for it, fuzz it, hand over what that has found.

Each step is in the log before it is begun, so that a turn that was interrupted anywhere is
gone on with by whoever resumes the campaign.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuzztui.campaign import Campaign
from fuzztui.model.first import budget, fuzzed_for, share_of
from fuzztui.model.state import Mutant
from fuzztui.supervise.first.batch import Unrunnable
from fuzztui.supervise.first.corpora import Corpora, slot_number, slots_of
from fuzztui.supervise.first.desk import Desk
from fuzztui.supervise.first.ground import Ground
from fuzztui.supervise.first.plan import LONGEST
from fuzztui.supervise.launcher import Launcher, instance_names
from fuzztui.supervise.life import Ending, Life
from fuzztui.supervise.orphans import children
from fuzztui.supervise.rundir import RunDir, SupervisorError
from fuzztui.wire.events import Message, MutantStage, MutantState

__all__ = ["Means", "Turn", "dwelling"]

AGAIN_S = 5.0
"""Between two tries of what something is in the way of."""

LOOK_S = 0.1
"""It is looked so often whether a mutant's time is up, or a person has skipped it."""

MOST_LEFT_BEHIND = 300
"""Processes that a mutant may leave behind before it is taken for one that forks for ever."""

_UNWANTED = ("skipped", "equivalent")
"""A person's words that end a turn."""


def dwelling(home: RunDir, slot: str) -> list[tuple[str, Path]]:
    """The instances of a turn and their directories."""
    out = home.in_slot(slot).out
    return [(name, out / name) for name in slots_of(home, slot)]


@dataclass(frozen=True, slots=True)
class Means:
    """What all turns of a campaign share."""

    campaign: Campaign
    home: RunDir
    launcher: Launcher
    desk: Desk
    ground: Ground
    corpora: Corpora


class Turn:
    """The turn of the mutant ``key``, which is run by ``command``."""

    def __init__(self, means: Means, key: str, command: Sequence[str]) -> None:
        self._campaign = means.campaign
        self._launcher = means.launcher
        self._desk = means.desk
        self._ground = means.ground
        self._corpora = means.corpora
        self._key = key
        self._command = command
        known = self._mutant.stage in ("fuzzing", "collecting") and self._mutant.slot
        self._slot = self._mutant.slot if known else self._new_slot()
        self._home = means.home.in_slot(self._slot)
        self._crowd = 0
        """Processes that it left behind, and nobody waits for."""
        self._news_at = 0.0
        self._last_find = -1.0

    @property
    def _mutant(self) -> Mutant:
        return self._desk.state.mutants[self._key]

    async def run(self) -> None:
        """To its end. Raises :class:`~fuzztui.supervise.first.desk.Halted`."""
        if self._mutant.stage not in ("fuzzing", "collecting"):
            self._tell("pruning")
            try:
                await self._desk.abide(self._persistently(self._begin))
            except Unrunnable as e:
                self._tell("refused", str(e))
                return
        if self._mutant.stage == "fuzzing":
            await self._fuzz()
        if self._mutant.stage == "collecting":
            await self._desk.abide(self._persistently(self._collect))

    async def _persistently(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do it, again and again while something is in the way that may pass: a full disk.

        Raises :class:`Unrunnable`.
        """
        told = ""
        while True:
            try:
                return await step()
            except Unrunnable:
                raise
            except (SupervisorError, OSError) as e:
                if (words := str(e)) != told:
                    told = words
                    self._desk.record(Message("error", f"{self._slot}: {words}; it is tried again"))
                await asyncio.sleep(AGAIN_S)

    def tidy(self, built: Path) -> None:
        """Remove what the turn needs no more; blocking. What it found stays."""
        for directory in (built, self._cwd):
            shutil.rmtree(directory, ignore_errors=True)
        for name in instance_names(self._part(0)):
            with contextlib.suppress(OSError):
                (self._home.supervisor / f"statsd-{name}.json").unlink(missing_ok=True)

    def _new_slot(self) -> str:
        """Turns are numbered in the order in which they begin."""
        used = (slot_number(mutant.slot) for mutant in self._desk.state.mutants.values())
        instances = (slot_number(name) for name in self._desk.state.instances)
        return f"m{1 + max(*used, *instances, 0)}"

    def _tell(
        self,
        stage: str,
        reason: str = "",
        costs: Mapping[str, float] | None = None,
        brought: Mapping[str, int] | None = None,
    ) -> None:
        rounded = {name: round(seconds, 3) for name, seconds in (costs or {}).items()}
        self._desk.record(
            MutantStage(self._key, stage, self._slot, reason, rounded, dict(brought or {}))
        )

    # ------------------------------------------------------------------ pruning

    async def _begin(self) -> None:
        begun = time.monotonic()
        await asyncio.to_thread(shutil.rmtree, self._home.turn, ignore_errors=True)
        await asyncio.to_thread(self._home.out.mkdir, 0o700, parents=True)
        batch = self._ground.batch(self._command, self._slot)
        pruned, kills = await self._corpora.next_for(self._slot, batch)
        new = await asyncio.to_thread(self._corpora.matrix.add, self._key, kills)
        brought = {"kept": len(pruned.kept), "aside": len(pruned.aside), "kills": new}
        costs = {"prune": time.monotonic() - begun}
        if pruned.kept or not pruned.aside:  # an engine of ours starts from nothing, too
            self._tell("fuzzing", "", costs, brought)
            self._judge(kills)
        else:
            words = f"it fails on all {len(pruned.aside)} inputs that it could start from"
            self._tell("refused", words, costs, brought)
            self._judge(kills)

    def _judge(self, kills: Mapping[str, str]) -> None:
        """A kill is for good; and whoever was tried without one is alive."""
        mutant = self._mutant
        if kills and mutant.state != "killed":
            killer, oracle = next(iter(kills.items()))
            self._desk.record(MutantState("", self._key, "killed", killer, oracle))
        elif mutant.state == "pending" and mutant.stage == "done":
            self._desk.record(MutantState("", self._key, "alive"))

    # ------------------------------------------------------------------ fuzzing

    def _part(self, trials: int) -> Campaign:
        """The campaign that this turn is: the same options, on the mutant."""
        whole = self._campaign
        target = self._ground.target(self._command)
        if whole.mutants["cwd"] == "private":
            target["cwd"] = str(self._cwd)
        return replace(
            whole,
            slot=self._slot,
            instances=whole.instances if whole.mutants["use"] == "sequential" else 1,
            seed=whole.seed + 1009 * slot_number(self._slot),
            budget_s=0.0,
            budget_trials=trials,
            target=target,
        )

    async def _fuzz(self) -> None:
        """Until its budget is used up, a person skips it, or the campaign ends."""
        self._news_at = self._used()
        while not (enough := self._enough()):
            trials = self._share() if self._in_trials else 0
            # More than one time round: it was promoted when it had used its executions up.
            lives = self._lives(self._part(int(trials)))
            ends = asyncio.ensure_future(self._end_in_time(lives))
            try:
                await self._desk.live(lives, self._home, self._key)
            finally:
                ends.cancel()
            failed = [life for life in lives if life.state == "failed"]
            if len(failed) == len(lives):
                enough = self._desk.state.instances[lives[0].name].reason
                break
            if any(life.state == "stopped" for life in lives):
                if self._desk.leaving:
                    return  # whoever resumes the campaign goes on with it
                enough = "stopped"
                break
        self._tell("collecting", enough)

    @property
    def _cwd(self) -> Path:
        return self._home.turn / "cwd"

    def _lives(self, part: Campaign) -> list[Life]:
        self._cwd.mkdir(mode=0o700, exist_ok=True)
        known = self._desk.state.instances
        lives = [
            Life(
                part,
                self._home,
                index,
                launcher=self._launcher,
                desk=self._desk,
                before=known.get(name),
            )
            for index, name in enumerate(instance_names(part))
        ]
        for life in lives:
            life.revive()
        return lives

    async def _end_in_time(self, lives: Sequence[Life]) -> None:
        started = time.monotonic()
        before = children()
        while True:
            await asyncio.sleep(LOOK_S)
            self._crowd = max(0, children() - before)
            if "start" not in self._mutant.costs and self._used_any():
                self._tell("fuzzing", "", {"start": time.monotonic() - started})
            if words := self._enough():
                for life in lives:
                    self._desk.end_one(life, Ending("finished", words))
                return

    @property
    def _in_trials(self) -> bool:
        return bool(self._campaign.budget_trials)

    def _used_any(self) -> bool:
        instances = self._desk.state.instances.values()
        return any(i.mutant == self._key and i.execs for i in instances)

    def _used(self) -> float:
        """Of the mutant's budget, in its unit."""
        if self._in_trials:
            ours = instance_names(self._part(0))
            known = self._desk.state.instances
            return float(sum(known[name].execs for name in ours if name in known))
        return fuzzed_for(self._desk.state, self._mutant, self._desk.now())

    def _share(self) -> float:
        """The most that it may use: no more than there is for all mutants."""
        most = share_of(self._desk.state, self._mutant)
        if self._campaign.mutants["adaptive"]:
            most *= LONGEST
        if self._in_trials:
            used, of = budget(self._desk.state)
            most = min(most, self._used() + max(1.0, of - used))
        return most

    def _enough(self) -> str:
        """Why the turn is over, in words; "" while it is not."""
        mutant, desk = self._mutant, self._desk
        if mutant.state in _UNWANTED:
            return mutant.state
        used, of = budget(desk.state, desk.now())
        if used >= of:
            return "the mutants' budget is used up"
        if self._crowd > MOST_LEFT_BEHIND:
            return f"it leaves processes behind: {self._crowd} by now, which are killed"
        used, each = self._used(), share_of(desk.state, mutant)
        if used >= self._share():
            return "its budget is used up"
        return self._no_longer_pays(used, each) if self._campaign.mutants["adaptive"] else ""

    def _no_longer_pays(self, used: float, each: float) -> str:
        """Adaptive: left early when a third of a budget has brought nothing."""
        known = self._desk.state.instances
        finds = [known[n].last_find_t for n in instance_names(self._part(0)) if n in known]
        if (last := max(finds, default=-1.0)) > self._last_find:
            self._last_find, self._news_at = last, used
        if used - self._news_at >= each / LONGEST:
            return "it has found nothing for a third of its budget"
        return ""

    # --------------------------------------------------------------- collecting

    async def _collect(self) -> None:
        begun = time.monotonic()
        batch = self._ground.batch(self._command, self._slot) if self._command else None
        harvest = await self._corpora.harvest(self._key, self._slot, batch, self._command)
        handed = harvest.handed
        kills = self._mutant.brought.get("kills", 0) + harvest.new_kills
        brought = {
            "entries": handed.entries,
            "edges": handed.edges,
            "crashes": handed.crashes,
            "hangs": handed.hangs,
            "kills": kills,
        }
        self._tell("done", "", {"handover": time.monotonic() - begun}, brought)
        self._judge(harvest.kills)
