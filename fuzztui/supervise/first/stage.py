"""The mutants' stage: a queue of mutants, built ahead, each given its turn, while budget lasts.

Decisions are taken on the folded state, so that a person who steers, a restart and a replay
all see the same queue. (Paper: "Fuzzing: Two Key Decisions".)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

from fuzztui.campaign import Campaign
from fuzztui.model.first import AT_WORK, budget, head, outlook
from fuzztui.model.state import Mutant
from fuzztui.mutants.text import TextMutant
from fuzztui.supervise.files import read_json, replace_text
from fuzztui.supervise.first.build import directory_name
from fuzztui.supervise.first.corpora import Corpora
from fuzztui.supervise.first.desk import Desk
from fuzztui.supervise.first.ground import ground_for
from fuzztui.supervise.first.plan import abreast, plan_of
from fuzztui.supervise.first.ranking import Ranking
from fuzztui.supervise.first.reach import Reach
from fuzztui.supervise.first.turn import Means, Turn, dwelling
from fuzztui.supervise.launcher import Launcher
from fuzztui.supervise.processes import EngineProcess
from fuzztui.supervise.rundir import RunDir, SupervisorError
from fuzztui.wire.events import (
    CampaignState,
    Event,
    Message,
    MutantPlaces,
    MutantsFound,
    MutantStage,
    MutantState,
    StageStarted,
)
from fuzztui.wire.text import visible

__all__ = ["MutantsStage"]

_NEWS = (CampaignState, MutantStage, MutantState, MutantPlaces, MutantsFound)
"""Events after which the queue may be another one."""

_LISTED_EVERY_S = 0.5
"""Mutants are told in batches: those that were ranked in so many seconds."""

_AGAIN_S = 5.0
"""Between two tries to build a mutant when the disk is full."""

_TWINS = "digests.json"
_BUILD = "build.json"


class MutantsStage:
    """Fuzzes mutants of the target for their part of the budget. :meth:`run` it once."""

    def __init__(self, campaign: Campaign, home: RunDir, launcher: Launcher, desk: Desk) -> None:
        self._campaign = campaign
        self._home = home
        self._launcher = launcher
        self._desk = desk
        self._ground = ground_for(campaign, home)
        self._corpora = Corpora(campaign, home, self._ground)
        self._news = asyncio.Event()
        self._failure: SupervisorError | None = None
        """Why there are no mutants."""
        self._ranked = bool(desk.state.plan.get("listed"))
        self._reach = Reach()
        self._found: list[TextMutant] = []
        """Ranked, and not yet in the log."""
        self._jobs: list[asyncio.Future[None]] = []
        self._left_over: list[str] = []

    def heard(self, event: Event) -> None:
        """Something was logged."""
        if isinstance(event, _NEWS):
            self._wake()

    def _wake(self) -> None:
        # A fresh one: each who waits has taken the one of before it looked.
        self._news.set()
        self._news = asyncio.Event()

    def living(self) -> list[str]:
        """The instances whose engines an earlier supervisor has left running."""
        return [
            name
            for mutant in self._desk.state.mutants.values()
            if mutant.stage == "fuzzing"
            for name, directory in dwelling(self._home, mutant.slot)
            if EngineProcess.adopt(directory)
        ]

    async def run(self) -> None:
        """To the end of the stage, or until the campaign is ended.

        Raises :class:`SupervisorError` where no mutant can be made or run.
        """
        desk, state = self._desk, self._desk.state
        plan = plan_of(self._campaign)
        desk.record(StageStarted("mutants", {**state.plan, **plan}))
        self._left_over = [m.id for m in state.mutants.values() if m.stage in AT_WORK]
        try:
            self._home.mutants.mkdir(mode=0o700, exist_ok=True)
            with contextlib.nullcontext() if self.living() else desk.unpaid():
                await desk.abide(self._prepare())
            self._jobs.append(asyncio.ensure_future(self._build_ahead()))
            runners = [self._runner() for _ in range(abreast(self._campaign))]
            await asyncio.gather(*runners)
            self._ran_out()
        except OSError as e:
            raise SupervisorError(f"{e.filename}: {e.strerror or e}") from None
        finally:
            for job in self._jobs:
                job.cancel()
            await asyncio.gather(*self._jobs, return_exceptions=True)

    # ------------------------------------------------------------- making ready

    async def _prepare(self) -> None:
        self._told("making the target's source ready for mutants")
        await self._ground.prepare(self._told)
        self._ground.known(self._digests())
        self._told("running the seeds on the target")
        await self._corpora.start(self._desk.state)
        if not self._ranked:
            self._told("making mutants")
            ground = self._ground
            if self._campaign.mutants["functions"] or self._campaign.mutants["covered"]:
                self._reach = await ground.reach(self._corpora.seeds)
            ranking = Ranking(
                self._home, ground.tree, ground.sources, self._reach, self._ranked_one
            )
            self._jobs.append(asyncio.ensure_future(self._rank(ranking)))
            await ranking.ready.wait()
            self._desk.record(*(Message("info", note) for note in ranking.notes))

    def _told(self, words: str) -> None:
        if self._desk.state.state == "starting":  # else its fuzzers run already
            self._desk.record(CampaignState("starting", words))

    def _digests(self) -> dict[str, str]:
        found = read_json(self._home.mutants / _TWINS) or {}
        return {key: value for key, value in found.items() if isinstance(value, str)}

    def _ran_out(self) -> None:
        """Say so when there was nothing more to fuzz before the budget was used up."""
        view = outlook(self._desk.state, self._desk.now())
        if view.of and view.used < view.of and not view.waiting:
            self._desk.record(Message("info", "no mutant is left: on to the target"))

    # ------------------------------------------------------------------ ranking

    def _ranked_one(self, mutant: TextMutant) -> None:
        self._found.append(mutant)

    async def _rank(self, ranking: Ranking) -> None:
        """List the mutants in the order of their rank, as they come."""
        known = len(self._desk.state.mutants)
        work = asyncio.ensure_future(ranking.run())
        place = 0
        try:
            while not work.done() or self._found:
                await asyncio.wait({work}, timeout=_LISTED_EVERY_S)
                found, self._found = self._found, []
                # The order is the same again after a restart: those are in the log already.
                news = [(n, m) for n, m in enumerate(found, place) if n >= known]
                place += len(found)
                self._desk.record(*_listing(news, self._ground.tree, self._reach))
            await work
        except (SupervisorError, OSError) as e:
            self._failure = SupervisorError(str(e))
        else:
            self._ranked = True
            figures = {"listed": place, **ranking.figures}
            self._desk.record(StageStarted("mutants", {**self._desk.state.plan, **figures}))
        finally:
            work.cancel()
            self._wake()

    # ----------------------------------------------------------------- building

    async def _build_ahead(self) -> None:
        """Keep the next few of the queue built, whatever order it is put into."""
        while True:
            news = self._news
            ahead = head(self._desk.state, self._campaign.mutants["ahead"])
            todo = next((m for m in ahead if not self._is_built(m)), None)
            if todo is None:
                await news.wait()
                continue
            try:
                await self._build(todo)
            except OSError as e:  # a full disk: what is fuzzed goes on meanwhile
                words = f"{e.filename or self._home.mutants}: {e.strerror or e}"
                self._desk.record(Message("error", f"a mutant cannot be built: {words}"))
                await asyncio.sleep(_AGAIN_S)

    def _is_built(self, mutant: Mutant) -> bool:
        return mutant.stage == "built" and bool(self._command(mutant))

    async def _build(self, mutant: Mutant) -> None:
        record = self._desk.record
        record(MutantStage(mutant.id, "building"))
        into = self._into(mutant)
        built = await self._ground.build(_text(mutant), into)
        costs = {"build": round(built.seconds, 3)}
        replace_text(self._home.mutants / _TWINS, json.dumps(self._ground.digests))
        if built.error:
            record(
                MutantState("", mutant.id, "invalid", reason="it does not build"),
                MutantStage(mutant.id, "failed", reason=built.error, costs=costs),
            )
        elif built.twin == "original":
            words = "it is the same program once it is compiled"
            record(
                MutantState("", mutant.id, "equivalent", reason=words),
                MutantStage(mutant.id, "dropped", reason=words, costs=costs),
            )
        elif built.twin:
            words = f"the same program as {built.twin} once it is compiled"
            record(
                MutantState("", mutant.id, "invalid", reason=words),
                MutantStage(mutant.id, "dropped", reason=words, costs=costs),
            )
        else:
            replace_text(into / _BUILD, json.dumps({"command": built.command}))
            # A person may have skipped it meanwhile, or begun something else with it.
            record(MutantStage(mutant.id, "built", costs=costs))

    def _into(self, mutant: Mutant) -> Path:
        return self._home.mutants / "built" / directory_name(mutant.id)

    def _command(self, mutant: Mutant) -> tuple[str, ...]:
        """How the built mutant is run; () if it is not there (any more)."""
        match read_json(self._into(mutant) / _BUILD):
            case {"command": [str(program), *rest]} if Path(program).exists():
                return (program, *map(str, rest))
        return ()

    # ------------------------------------------------------------------ fuzzing

    async def _runner(self) -> None:
        """Give one mutant after the other its turn."""
        means = Means(
            self._campaign, self._home, self._launcher, self._desk, self._ground, self._corpora
        )
        while (mutant := await self._next()) is not None:
            turn = Turn(means, mutant.id, self._command(mutant))
            await turn.run()
            if not self._desk.leaving:  # else it is gone on with
                await asyncio.to_thread(turn.tidy, self._into(mutant))

    async def _next(self) -> Mutant | None:
        """The mutant whose turn it is; None when there is none, or nothing left to pay for it."""
        state = self._desk.state
        while self._left_over:
            mutant = state.mutants[self._left_over.pop(0)]
            if mutant.stage == "fuzzing" and not self._command(mutant):
                words = "what was built of it is gone"
                self._desk.record(MutantStage(mutant.id, "collecting", mutant.slot, words))
            if mutant.stage != "pruning":
                return state.mutants[mutant.id]
            self._desk.record(MutantStage(mutant.id, "queued"))
        found: list[Mutant] = []

        async def find() -> None:
            while not self._spent():
                if self._failure:
                    raise self._failure
                news, waiting = self._news, head(state, abreast(self._campaign))
                if not waiting and self._ranked:
                    return
                ready = (m for m in waiting if self._is_built(m))
                if state.state == "paused":
                    pass
                elif (mutant := next(ready, None)) is not None:
                    # At once: others look for theirs too.
                    self._desk.record(MutantStage(mutant.id, "pruning"))
                    found.append(mutant)
                    return
                with contextlib.suppress(TimeoutError):  # the budget runs out in silence
                    async with asyncio.timeout(1.0):
                        await news.wait()

        await self._desk.abide(find())
        return found[0] if found else None

    def _spent(self) -> bool:
        used, of = budget(self._desk.state, self._desk.now())
        return used >= of


def _listing(mutants: list[tuple[int, TextMutant]], tree: Path, reach: Reach) -> list[MutantsFound]:
    """Events that tell of mutants and their places, file by file."""
    by_file: dict[str, list[dict[str, object]]] = {}
    for place, mutant in mutants:
        by_file.setdefault(mutant.file, []).append(
            {
                "id": mutant.id,
                "line": mutant.line,
                "function": reach.function_of(mutant.file, mutant.line),
                "operator": mutant.operator,
                "before": mutant.before,
                "after": mutant.after,
                "place": float(place),
            }
        )
    return [
        MutantsFound("", file=file, path=visible(str(tree / file)), mutants=rows)
        for file, rows in by_file.items()
    ]


def _text(mutant: Mutant) -> TextMutant:
    return TextMutant(
        mutant.id, mutant.file, mutant.line, mutant.operator, mutant.before, mutant.after
    )
