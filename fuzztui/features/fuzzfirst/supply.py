"""The supply of mutants: records mutants as they are ranked, and builds the next few ahead."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Awaitable
from pathlib import Path

from fuzztui.features.fuzzfirst.build import MutantBackend, directory_name
from fuzztui.features.fuzzfirst.fold import LATE, head, tired
from fuzztui.features.fuzzfirst.ranking import MEASURED, RANKED, RankedMutants, Ranking, needs_reach
from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.events import (
    Message,
    MutantProgress,
    MutantsFound,
    MutantState,
    PhaseStarted,
)
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.phase import PhaseContext

LISTED_EVERY_S = 0.5
"""Seconds between two records of ranked mutants."""

AGAIN_S = 5.0
"""Seconds between two attempts to build a mutant when the disk is full."""

MIN_ROOM = 32 << 20
"""Free bytes on the disk below which a failed build is not the mutant's fault."""

FAILED_IN_A_ROW = 25
"""Mutants in a row that do not build, after which the user is warned."""

SAME_IN_A_ROW = 25
"""Mutants in a row that are equal to the original, after which the user is warned."""

_ROUND = 4 * LATE
"""Distance of the positions of a round's mutants from those that earlier rounds have left."""

_DIGESTS = "digests.json"
_BUILD = "build.json"
_LISTING = "listing.json"
_SHAPING = ("sources", "functions", "covered", "order", "weights", "language", "listed")
"""Keys that the list of mutants depends on."""


class MutantSupply:
    """Fills the worklist, and builds its first mutants. Call :meth:`start` once."""

    def __init__(
        self,
        campaign: Campaign,
        run_dir: RunDir,
        backend: MutantBackend,
        context: PhaseContext,
    ) -> None:
        self._campaign = campaign
        self._run_dir = run_dir
        self._backend = backend
        self._context = context
        self._news = asyncio.Event()
        self._jobs: list[asyncio.Future[None]] = []
        self._found: list[SourceMutant] = []
        """Mutants that are ranked and not yet recorded."""
        self._reach = BuildReach()
        self._failed = self._same = 0
        self.whole = False
        """Whether all mutants are recorded."""
        self.failure: SupervisorError | None = None
        """Why ranking or building has stopped; None: no error."""

    @property
    def news(self) -> asyncio.Event:
        """Set when the worklist may have changed; replaced by a new event at the same time."""
        return self._news

    def wake(self) -> None:
        """Wake the tasks that wait for a change of the worklist."""
        self._news.set()
        self._news = asyncio.Event()

    async def start(self, seeds: list[Path]) -> None:
        """Start to build, and to rank unless an earlier start did; return once sources are read.

        Raises :class:`SupervisorError`.
        """
        digests = read_json(self._run_dir.mutants / _DIGESTS) or {}
        self._backend.digests |= {k: v for k, v in digests.items() if isinstance(v, str)}
        before = read_json(self._run_dir.mutants / _LISTING) or {}
        self.whole = before == {"key": self._key(), "whole": True}
        if not self.whole:
            listed_by = str(before.get("key")).partition("/")[0]
            other = bool(before) and listed_by != self._settings()
            await self._begin_ranking(seeds, other=other)
        self._jobs.append(asyncio.ensure_future(self._guarded(self._build_ahead())))

    async def close(self) -> None:
        """Cancel ranking and building."""
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    async def _guarded(self, job: Awaitable[None]) -> None:
        """Run ``job``. On an error, set ``failure`` and wake the tasks that wait for mutants."""
        try:
            await job
        except SupervisorError as e:
            self.failure = e
        except Exception as e:
            self.failure = SupervisorError(f"internal error: {e!r}")
        finally:
            self.wake()

    # ------------------------------------------------------------------ ranking

    @property
    def _round(self) -> int:
        """The number of the ranking, from 0: roadblocks are measured again in each round."""
        measured = self._campaign.table("mutants")["order"] == "roadblocks"
        return int(self._context.state.plan.get("round", 0)) if measured else 0

    @property
    def base(self) -> float:
        """The position of the first mutant of this round's ranking."""
        return -_ROUND * self._round

    def is_in_order(self, mutant: Mutant) -> bool:
        """Whether no mutant that is still to be ranked can come before this one."""
        return self.whole or mutant.place < self.base + LATE

    def _key(self) -> str:
        return self._settings() + (f"/{self._round}" if self._round else "")

    def _settings(self) -> str:
        mutants = self._campaign.table("mutants")
        parts = [self._campaign.seed, *(mutants[name] for name in _SHAPING)]
        parts += [mutants["shard"]] if mutants["shard"] else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    async def _begin_ranking(self, seeds: list[Path], *, other: bool) -> None:
        backend, mutants = self._backend, self._campaign.table("mutants")
        ranking: Ranking | RankedMutants
        if (data := read_json(self._run_dir.path / RANKED)) is not None:  # ranked elsewhere
            ranking = RankedMutants(data, mutants["shard"], self._take)
            self._reach = ranking.reach
        else:
            if needs_reach(self._campaign):
                self._reach = await self._measure(seeds)
            ranking = Ranking(self._run_dir, backend, self._reach, self._take, self._key())
        listing = self._run_dir.mutants / _LISTING
        replace_text(listing, json.dumps({"key": self._key(), "whole": False}))
        self._jobs.append(asyncio.ensure_future(self._guarded(self._rank(ranking, other=other))))
        await ranking.ready.wait()
        self._context.record(*(Message("info", note) for note in ranking.notes))
        if ranking.shard is not None:
            self._context.record(ranking.shard)
        known = self._context.state.excluded_mutants
        excluded = [(0.0, mutant) for mutant in ranking.excluded if mutant.id not in known]
        self._context.record(*_listing(excluded, self._backend.tree, self._reach))

    async def _measure(self, seeds: list[Path]) -> BuildReach:
        """Return what the corpus reached when the ranking began: the order depends on it."""
        before = read_json(self._run_dir.mutants / MEASURED) or {}
        if before.get("key") == self._key():
            with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
                return BuildReach.from_json(before)
        entries: list[Path] = []
        if self._campaign.table("mutants")["order"] == "roadblocks":
            entries = await asyncio.to_thread(self._newest_entries)
        return await self._backend.reach([*entries, *seeds])

    def _newest_entries(self) -> list[Path]:
        """The target's queue entries with new edges, the newest first: of many, not all are run."""
        entries = self._run_dir.out.glob("*/queue/id:*+cov*")
        return sorted(entries, key=lambda path: (path.name, path), reverse=True)

    def _take(self, mutant: SourceMutant) -> None:
        self._found.append(mutant)

    async def _rank(self, ranking: Ranking | RankedMutants, *, other: bool) -> None:
        """Record the mutants in ranking order, as they arrive.

        The order is the same after a restart, so mutants that are recorded are not recorded again.
        ``other``: the campaign's settings for mutants have changed, so earlier mutants that are not
        listed again are skipped.
        """
        state = self._context.state
        last = self.base + _ROUND - LATE  # what is behind was ranked in an earlier round
        known = {m.id for m in state.mutants.values() if m.place < last and not other}
        exhausted = tired(state.mutants.values())
        listed: set[str] = set()
        work = asyncio.ensure_future(ranking.run())
        try:
            while not work.done() or self._found:
                await asyncio.wait({work}, timeout=LISTED_EVERY_S)
                found, self._found = self._found, []
                places = (
                    self.base + place + LATE * ((m.file, m.roadblock) in exhausted)
                    for place, m in enumerate(found, len(listed))
                )
                ranked = zip(places, found, strict=True)
                news = [(place, mutant) for place, mutant in ranked if mutant.id not in known]
                listed |= {mutant.id for mutant in found}
                self._context.record(*_listing(news, self._backend.tree, self._reach))
            await work
        finally:
            work.cancel()
        if other:
            message = "no longer among the campaign's mutants"
            gone = [m for m in state.mutants.values() if m.id not in listed]
            waiting = (m for m in gone if m.state == "pending")
            self._context.record(
                *(MutantState("", m.id, "skipped", reason=message) for m in waiting)
            )
        listing = self._run_dir.mutants / _LISTING
        replace_text(listing, json.dumps({"key": self._key(), "whole": True}))
        self.whole = True
        figures = {"listed": len(listed), **ranking.figures}
        self._context.record(PhaseStarted("mutants", {**state.plan, **figures}))

    # ----------------------------------------------------------------- building

    def command(self, mutant: Mutant) -> tuple[str, ...]:
        """Return the command of the built mutant; () if its program does not exist."""
        match read_json(self.into(mutant) / _BUILD):
            case {"command": [str(program), *rest]} if Path(program).exists():
                return (program, *map(str, rest))
        return ()

    def is_built(self, mutant: Mutant) -> bool:
        """Whether a mutant is ready for its turn."""
        return mutant.stage == "built" and bool(self.command(mutant))

    def into(self, mutant: Mutant) -> Path:
        """Return the directory of the mutant's program."""
        return self._run_dir.mutants / "built" / directory_name(mutant.id)

    async def _build_ahead(self) -> None:
        """Keep the first mutants of the worklist built, also after the user has moved mutants."""
        while True:
            news = self._news
            ahead = head(self._context.state, self._campaign.table("mutants")["ahead"])
            todo = next((m for m in ahead if not self.is_built(m)), None)
            if todo is None:
                await news.wait()
                continue
            try:
                await self._build(todo)
            except OSError as e:  # a full disk: fuzzing continues, building is tried again later
                message = f"{e.filename or self._run_dir.mutants}: {e.strerror or e}"
                self._context.record(Message("error", f"cannot build a mutant: {message}"))
                await asyncio.sleep(AGAIN_S)

    async def _build(self, mutant: Mutant) -> None:
        """Build a mutant and record the result. Raises OSError if the mutant is not to blame."""
        record, into = self._context.record, self.into(mutant)
        record(MutantProgress(mutant.id, "building"))
        built = await self._backend.build(source_of(mutant), into)
        if built.error and shutil.disk_usage(self._run_dir.mutants).free < MIN_ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._run_dir.mutants))
        costs = {"build": round(built.seconds, 3)}
        replace_text(self._run_dir.mutants / _DIGESTS, json.dumps(self._backend.digests))
        self._failed = self._failed + 1 if built.error else 0
        self._same = self._same + 1 if built.duplicate_of == "original" else 0
        if built.command:
            replace_text(into / _BUILD, json.dumps({"command": built.command}))
            # The fold keeps what a user did with the mutant meanwhile, such as skipping it.
            record(MutantProgress(mutant.id, "built", costs=costs))
            return
        stage, state = "dropped", "invalid"
        if built.error:
            stage, why = "failed", "does not build"
        elif built.duplicate_of == "original":
            state, why = "equivalent", "equal to the original once compiled"
        else:  # the model finds the id in this text
            why = f"the same program as {built.duplicate_of} once it is compiled"
        record(
            MutantState("", mutant.id, state, reason=why),
            MutantProgress(mutant.id, stage, reason=built.error or why, costs=costs),
        )
        if self._failed == FAILED_IN_A_ROW:
            message = f"{self._failed} mutants in a row do not build; check target.build."
            record(Message("warning", f"{message} The last error: {built.error}"))
        if self._same == SAME_IN_A_ROW:
            message = f"{self._same} mutants in a row are equal to the original once compiled"
            record(Message("warning", f"{message}; check that all of {mutant.file} is compiled"))


def _listing(
    mutants: list[tuple[float, SourceMutant]], tree: Path, reach: BuildReach
) -> list[MutantsFound]:
    """Return events with mutants and their positions, one event per file."""
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
                "place": place,
                **({"excluded": mutant.excluded} if mutant.excluded else {}),
                **({"roadblock": mutant.roadblock, "hides": mutant.hides} if mutant.hides else {}),
            }
        )
    return [
        MutantsFound("", file=file, path=visible(str(tree / file)), mutants=rows)
        for file, rows in by_file.items()
    ]


def source_of(mutant: Mutant) -> SourceMutant:
    """Return the change of source that a mutant of the worklist is."""
    return SourceMutant(
        mutant.id, mutant.file, mutant.line, mutant.operator, mutant.before, mutant.after
    )
