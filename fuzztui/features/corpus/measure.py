"""What each input of a corpus covers, by the campaign's own target, in parallel and twice.

A target may behave differently on its second run: what an input covers each time is apart from
what it covers only sometimes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from fuzztui.engines.suite.properties import KEY_SIZE
from fuzztui.features.corpus.cover import Numbering
from fuzztui.features.fuzzfirst.batch import AflBatch
from fuzztui.kernel.base.files import read_json, read_regular
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.replay import EDGES, replay

PASSES: Final = 2
_SLICE: Final = 500
"""Inputs that one process runs: their coverage is in memory as sets until all have ended."""

Progress = Callable[[int, int], None]
"""Called with the number of executions that are done, and of all of them."""

_POLL_S: Final = 0.1
OK: Final = "ok"
UNFIT: Final = "unfit"
_BUCKETS: Final = 8


@dataclass(slots=True)
class Covered:
    """What one input covers, as masks of :attr:`Measured.numbers`."""

    always: int = 0
    """Covered in every pass."""
    sometimes: int = 0
    """Covered in some pass, but not in all."""
    outcomes: set[str] = field(default_factory=set)
    """How the passes ended: ok, crash, hang, unfit."""

    @property
    def all(self) -> int:
        """Mask of what the input covered in any pass."""
        return self.always | self.sometimes

    @property
    def fails(self) -> str:
        """How the input fails if no pass ended well (one way if several); else an empty string."""
        return "" if OK in self.outcomes else min(self.outcomes, default=UNFIT)

    @property
    def flaky(self) -> bool:
        """Whether some passes ended well and others did not."""
        return OK in self.outcomes and len(self.outcomes) > 1


@dataclass(slots=True)
class Measured:
    """What the inputs of a corpus cover. A thing covered is an edge with a bucket of its count."""

    numbers: Numbering = field(default_factory=Numbering)
    inputs: list[Covered] = field(default_factory=list)
    places: dict[Hashable, tuple[str, int]] = field(default_factory=dict)
    """File and line by edge; empty for a program, whose edges are only numbers."""

    def edges(self, mask: int) -> set[Hashable]:
        """Return the edges in a mask, without the buckets of their counts."""
        found = set()
        for item in self.numbers.things(mask):
            if isinstance(item, tuple):
                found.add(item[0])
        return found


class Stopped(Exception):
    """Another job has failed, or the work is not wanted any more."""


_T = TypeVar("_T")


def run_until(stopped: threading.Event, work: Coroutine[Any, Any, _T]) -> _T:
    """Run work in an event loop of its own, and cancel it if ``stopped`` is set.

    Raises :class:`Stopped` then.
    """

    async def watched() -> _T:
        task = asyncio.ensure_future(work)
        while not task.done() and not stopped.is_set():
            await asyncio.wait({task}, timeout=_POLL_S)
        task.cancel()  # once: a second time would interrupt the killing
        return await task

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        raise Stopped from None


@dataclass(frozen=True, slots=True)
class Measurer:
    """Runs inputs on the target of a campaign."""

    campaign: Campaign
    instance: Path
    """An instance's directory: its run's constants give the choices of a generator a meaning."""
    work: Path
    """A directory outside of the run."""
    jobs: int
    progress: Progress
    stopped: threading.Event = field(default_factory=threading.Event)
    """Another thread may set it: running processes are killed, and :class:`Stopped` is raised."""

    def measure(
        self, files: Sequence[Path], passes: int = PASSES, into: Measured | None = None
    ) -> Measured:
        """Run all files ``passes`` times.

        ``into``: an earlier measurement of other files, whose numbers are used. Raises
        :class:`~fuzztui.run.campaign.rundir.SupervisorError`, OSError.
        """
        found = Measured() if into is None else Measured(into.numbers, places=into.places)
        found.inputs = [Covered() for _ in files]
        each = min(_SLICE, max(1, -(-len(files) // self.jobs)))
        slices = [range(at, min(at + each, len(files))) for at in range(0, len(files), each)]
        run = self._programs if self.campaign.kind == AFL else self._python
        for number in range(passes):
            run(files, slices, _Pass(found, number, passes * len(files), self))
        return found

    def _programs(self, files: Sequence[Path], slices: Sequence[range], one: _Pass) -> None:
        """Run a program that is instrumented for AFL++, by afl-showmap."""
        waiting = iter(slices)
        command = self.campaign.target["command"]

        async def job(label: str) -> None:
            place = RunDir(self.work / label)
            place.path.mkdir(exist_ok=True)
            batch = AflBatch(self.campaign, place, command, label)
            for part in waiting:
                inputs = [files[at] for at in part]

                def tell(share: float, part: range = part) -> None:
                    one.show(part.start, round(share * len(part)))

                for at, result in zip(part, await batch.run(inputs, tell), strict=True):
                    one.take(at, result.outcome, (divmod(item, _BUCKETS) for item in result.trace))

        async def all_jobs() -> None:
            number = min(self.jobs, len(slices))
            await asyncio.gather(*(job(f"job{n}") for n in range(number)))

        run_until(self.stopped, all_jobs())

    def _python(self, files: Sequence[Path], slices: Sequence[range], one: _Pass) -> None:
        """Run a Python target, by its interpreter."""
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            parts = [pool.submit(self._slice, files, part, one) for part in slices]
            try:
                for part in parts:
                    part.result()
            except BaseException:
                self.stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _slice(self, files: Sequence[Path], part: range, one: _Pass) -> None:
        # Cells of modules that are imported late have other numbers in each process.
        place = self.work / f"slice{part.start}"
        place.mkdir(exist_ok=True)
        (place / EDGES).unlink(missing_ok=True)

        def show(done: int) -> None:
            one.show(part.start, done)
            if self.stopped.is_set():
                raise Stopped

        show(0)
        inputs = [files[at] for at in part]
        found = replay(self.campaign, inputs, place, self.instance, show)
        names, places = _cells(place / EDGES)
        one.note(places)
        for at, index in enumerate(part):
            outcome = OK if at in found.cells else UNFIT
            if at in found.failed:
                outcome = found.failed[at].get("category") or "crash"
            cells = found.cells.get(at, ())
            of = self._property(files[index])
            items = ((names.get(i // _BUCKETS, i // _BUCKETS), i % _BUCKETS, *of) for i in cells)
            one.take(index, outcome, items)

    def _property(self, file: Path) -> tuple[bytes, ...]:
        """The key of the suite's property that an input is for; () without a suite.

        It is part of what an input covers, so that each property keeps inputs of its own.
        """
        return (read_regular(file, KEY_SIZE),) if self.campaign.target.get("suite") else ()


class _Pass:
    """One execution of each input; thread-safe."""

    def __init__(self, found: Measured, number: int, total: int, measurer: Measurer) -> None:
        self._found, self._number, self._total = found, number, total
        self._progress = measurer.progress
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        """Number of executions by slice."""

    def show(self, start: int, done: int) -> None:
        """Report that ``done`` inputs of the slice that begins at ``start`` were run."""
        with self._lock:
            self._done[start] = max(done, self._done.get(start, 0))
            before = self._number * len(self._found.inputs)
            self._progress(before + sum(self._done.values()), self._total)

    def take(self, at: int, outcome: str, items: Iterable[tuple[Hashable, ...]]) -> None:
        """Take the result of an input: how it ended, edges with buckets and properties."""
        with self._lock:
            covered = self._found.inputs[at]
            mask = self._found.numbers.mask(items)
            covered.outcomes.add(outcome)
            if self._number:
                covered.sometimes |= covered.always ^ mask
                covered.always &= mask
            else:
                covered.always = mask

    def note(self, places: Mapping[Hashable, tuple[str, int]]) -> None:
        """Add file and line of edges."""
        with self._lock:
            self._found.places.update(places)


def _cells(file: Path) -> tuple[dict[int, Hashable], dict[Hashable, tuple[str, int]]]:
    """Return names of cells that are equal in all processes, and file and line by name."""
    names: dict[int, Hashable] = {}
    places: dict[Hashable, tuple[str, int]] = {}
    try:
        modules: list[dict[str, Any]] = (read_json(file) or {})["modules"]
        for module in modules:
            for at, (_, line, _) in enumerate(module["edges"]):
                name = (str(module["name"]), at)
                names[int(module["base"]) + at] = name
                places[name] = (str(module["file"]), int(line))
    except (LookupError, TypeError, ValueError, AttributeError):
        return {}, {}  # the target has changed the file
    return names, places
