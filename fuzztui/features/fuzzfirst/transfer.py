"""The transfer: run the corpora of mutants on the target, and keep what is new.

``OUT/handed`` is a passive instance. The target's instances import from its ``queue``, as from any
peer (its ids have no gaps); its ``crashes`` and ``hangs`` are findings of the target.
``OUT/.near`` has the near misses: entries that cover something new in a mutant, and nothing new in
the target. In-process engines put operands of the target's comparisons into these.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from pathlib import Path

from fuzztui.engines.directory.store import QUEUE
from fuzztui.engines.directory.sync import NEAR_MISSES
from fuzztui.features.fuzzfirst.batch import BatchRunner
from fuzztui.features.fuzzfirst.json_lines import JsonLines
from fuzztui.features.fuzzfirst.prune import (
    Input,
    edges_of,
    file_name,
    gather,
    run_all,
    write_whole,
)
from fuzztui.features.fuzzfirst.showmap import InputResult, read_input
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.wire.afl import entry_name, id_of
from fuzztui.run.observe.afl_names import parse_name

TRACELESS = 20
"""Crashes, and hangs, without a trace that one transfer keeps: they cannot be distinguished."""

NEAREST = 50
"""Near misses that one transfer keeps."""

MOST_NEAR = 2000
"""Near misses that all transfers of a run keep."""

_NEAR = "near"
_REPAIRED = "repaired"
"""File with the id of the first near miss that was not repaired."""
_PARTS = {"ok": "queue", "crash": "crashes", "hang": "hangs"}
_ORIGIN = re.compile(r"([^/]+)/(?:(crashes|hangs)/)?([0-9]{1,10})")


def transferred_by_turn(out: Path) -> Mapping[str, dict[str, int]]:
    """Return the target's entries, crashes and hangs by the turn that is credited with them.

    Includes the turn's secondary instances (``m7-s1``). Counts files, so interrupted transfers are
    included.
    """
    words = {"queue": "entries", "crashes": "crashes", "hangs": "hangs"}
    found: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(words.values(), 0))
    for part, word in words.items():
        try:
            names = os.listdir(out / MUTANT_INPUTS / part)  # noqa: PTH208 - names only
        except OSError:
            names = []
        for name in names:
            found[parse_name(name).sync.partition("-")[0]][word] += 1
    return found


@dataclass(slots=True)
class _Part:
    """A directory of the passive instance."""

    directory: Path
    next_id: int = 0
    seen: set[int] = field(default_factory=set)
    """Coverage of the files in the directory; of the queue, including the seeds."""


class Transfer:
    """Writes ``out/handed``. Raises :class:`SupervisorError`.

    Outcomes are kept in ``RUN/mutants/verdicts.jsonl``, so that no input is run twice. A file is
    written before its outcome, so that repeating an interrupted :meth:`take` adds what is missing,
    and nothing twice.
    """

    def __init__(self, out: Path, batch: BatchRunner) -> None:
        self._out = out
        self._batch = batch
        self._turn = asyncio.Lock()
        self._parts = {o: _Part(out / MUTANT_INPUTS / part) for o, part in _PARTS.items()}
        self._near = _Part(out / NEAR_MISSES / QUEUE)
        self._edges: set[int] = set()
        self._seed_edges: dict[str, int] = {}
        """Digest -> edges that a seed covers on the target, as a set of bits."""
        self._ledger = JsonLines(out.parent / "mutants" / "verdicts.jsonl")
        self._verdicts: dict[str, str] = {}
        for row in self._ledger.rows:
            digest, outcome = row.get("digest"), row.get("outcome")
            if isinstance(digest, str) and outcome in _PARTS:
                self._verdicts[digest] = outcome

    @property
    def verdicts(self) -> Mapping[str, str]:
        """Digest -> outcome on the target, of all inputs of this run that were run on it."""
        return self._verdicts

    async def start(self, seeds: Sequence[Input]) -> None:
        """Measure the coverage of the seeds, and of earlier transfers. Call once, at first."""
        async with self._turn:
            async for some in run_all(self._batch, seeds):
                await in_thread(partial(self._learn, some))
                self._seed_edges |= {one.digest: _bits(edges_of(verdict)) for one, verdict in some}
            async for some in run_all(self._batch, await asyncio.to_thread(self._look)):
                await in_thread(partial(self._learn, some))

    def edges_of_seeds(self, digests: Iterable[str]) -> int:
        """Return how many edges of the target these seeds cover."""
        return reduce(or_, (self._seed_edges.get(digest, 0) for digest in digests), 0).bit_count()

    async def take(self, inputs: Sequence[Input]) -> int:
        """Run inputs on the target and keep what is new, in the order given.

        Returns the number of new edges. If cancelled, the inputs that were already transferred are
        kept.
        """
        edges = 0
        room = {"crash": TRACELESS, "hang": TRACELESS, _NEAR: NEAREST}
        async with self._turn:
            fresh: dict[str, Input] = {}
            for one in inputs:
                if one.digest not in self._verdicts:
                    fresh.setdefault(one.digest, one)
            async for some in run_all(self._batch, list(fresh.values())):
                edges += await in_thread(partial(self._keep, some, room))
        return edges

    def near_misses(self) -> list[Input]:
        """Return the near misses that were not repaired yet, in order. Blocks."""
        note = read_if_regular(self._out / NEAR_MISSES / _REPAIRED, 20) or b""
        done = int(note) if note.isdigit() else 0
        return [i for i in gather(self._out, [NEAR_MISSES]) if id_of(i.path.name) >= done]

    def note_repaired(self, near_miss: Input) -> None:
        """Note that this near miss, and all before it, were repaired."""
        number = id_of(near_miss.path.name) + 1
        write_whole(self._out / NEAR_MISSES / _REPAIRED, b"%d" % number)

    def _look(self) -> list[Input]:
        """Return the inputs of earlier transfers, and set the next ids."""
        for part in (*self._parts.values(), self._near):
            part.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            part.next_id = 1 + max((id_of(f.name) for f in part.directory.iterdir()), default=-1)
        return gather(self._out, [MUTANT_INPUTS], list(_PARTS.values()))

    def _learn(self, some: Sequence[tuple[Input, InputResult]]) -> None:
        rows: list[dict[str, str]] = []
        for one, verdict in some:
            if verdict.outcome in _PARTS:
                self._cover(verdict)
                if one.digest not in self._verdicts:
                    rows.append(self._remember(one, verdict))
        self._ledger.append(rows)

    def _keep(self, some: Sequence[tuple[Input, InputResult]], room: dict[str, int]) -> int:
        """Write new files first, then outcomes: an input with an outcome is never run again.

        Returns the number of new edges.
        """
        rows: list[dict[str, str]] = []
        edges = 0
        try:
            for one, verdict in some:
                outcome = verdict.outcome
                if outcome not in _PARTS:
                    continue
                blind = outcome != "ok" and not verdict.trace
                kept = room[outcome] if blind else self._news(verdict)
                is_near = self._is_near(one, verdict) and room[_NEAR] > 0
                if kept or is_near:
                    data = read_input(one.path)
                    if data is None or hashlib.sha256(data).hexdigest() != one.digest:
                        continue  # the file has changed since it was run
                    if kept:
                        edges += self._write(one, verdict, data)
                        if blind:
                            room[outcome] -= 1
                    if is_near:
                        self._put(self._near, _name(self._near.next_id, one, 0), data)
                        room[_NEAR] -= 1
                rows.append(self._remember(one, verdict))
        finally:
            self._ledger.append(rows)
        return edges

    def _write(self, one: Input, verdict: InputResult, data: bytes) -> int:
        """Write an input; return the number of new edges of an entry, 0 for a finding."""
        part = self._parts[verdict.outcome]
        edges = 0
        if verdict.outcome == "ok":
            edges = len(edges_of(verdict) - self._edges)
        self._put(part, _name(part.next_id, one, verdict.sig) + (",+cov" if edges else ""), data)
        self._cover(verdict)
        return edges

    def _put(self, part: _Part, name: str, data: bytes) -> None:
        write_whole(part.directory / name, data)
        part.next_id += 1

    def _is_near(self, one: Input, verdict: InputResult) -> bool:
        """Whether an entry covers new edges in its mutant, by its name, and none in the target.

        Seeds of the turn do not count: what they cover was new to the turn only.
        """
        name = one.path.name
        new_there = verdict.outcome == "ok" and ",+cov" in name and ",orig:" not in name
        return new_there and edges_of(verdict) <= self._edges and self._near.next_id < MOST_NEAR

    def _news(self, verdict: InputResult) -> set[int]:
        return _coverage(verdict) - self._parts[verdict.outcome].seen

    def _cover(self, verdict: InputResult) -> None:
        self._parts[verdict.outcome].seen |= _coverage(verdict)
        if verdict.outcome == "ok":
            self._edges |= edges_of(verdict)

    def _remember(self, one: Input, verdict: InputResult) -> dict[str, str]:
        self._verdicts[one.digest] = verdict.outcome
        return {"digest": one.digest, "outcome": verdict.outcome}


def _coverage(verdict: InputResult) -> set[int]:
    """Return what makes an input new, as in afl-fuzz: of findings, edges without hit counts."""
    if verdict.outcome == "ok":
        return set(verdict.trace)
    return edges_of(verdict)


def _name(number: int, one: Input, sig: int) -> str:
    """Return a name like afl-fuzz's: ``id:000012,sync:m7,src:000045,time:0,execs:0,op:...``.

    ``src``: the entry's id in the turn's queue, or the id of the finding's parent; ``op``: the
    exact origin, after how its content was changed (``op:repair+m7+000045``).
    """
    fields = [f"sig:{sig:02}"] if sig else []
    times = ["time:0", "execs:0"]
    of = _ORIGIN.fullmatch(one.origin)
    if of is None:
        rest = [*fields, *times, f"orig:{file_name(one.origin)}"]
        return entry_name(number, ",".join(rest))
    entry = one.parent if of[2] else int(of[3])
    source = [f"sync:{of[1]}", *([f"src:{entry:06}"] if entry >= 0 else [])]
    exact = "+".join(filter(None, (one.changed, file_name(one.origin))))
    return entry_name(number, ",".join([*fields, *source, *times, f"op:{exact}"]))


def _bits(numbers: Iterable[int]) -> int:
    made = bytearray()
    for number in numbers:
        made.extend(bytes(max(0, (number >> 3) + 1 - len(made))))
        made[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(made, "little")
