"""``fuzztui score --cluster``: the mutants in parts, each of them a job on a place.

The parts are merged into the answer of a single process. The journal of the jobs is in the run, so
that a score that was interrupted continues with the parts that are missing.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzztui import __version__
from fuzztui.cli.output import CliError, UsageError, say
from fuzztui.cli.progress import PROGRESS_EVERY_S, TextLine, time_left
from fuzztui.features.jobs.bag import Bag, BagListener
from fuzztui.features.jobs.config import ClusterConfig, ClusterError
from fuzztui.features.jobs.opening import check_workers, open_place
from fuzztui.features.jobs.places import Place
from fuzztui.features.jobs.queue import JobQueue, JobState, QueuedJob, QueueError
from fuzztui.features.jobs.request import request_of
from fuzztui.features.mutants.score_job import ScoreWork
from fuzztui.features.mutants.score_parts import damage_of, doubtful_of, flaky_of, merged
from fuzztui.kernel.base.files import status
from fuzztui.kernel.base.text import several
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir

_SHARDS_PER_SLOT: Final = 3
"""Jobs for each slot: the last ones end at about the same time, and little is lost with one."""
_MIN_MUTANTS: Final = 60
"""Mutants of a shard: each one imports the target, and runs all inputs without a mutant."""
_TINY_S: Final = 0.001
_MAX_ROUNDS: Final = 5
_KEPT: Final = 5
"""Journals of interrupted scores that are kept."""


def score_on_cluster(
    run: RunDir,
    campaign: Campaign,
    config: ClusterConfig,
    corpus: Sequence[Path],
    *,
    overrides: Sequence[str],
    mutants: int,
    jobs: int,
    parts: int,
    within_s: float,
    matrix: Path | None,
) -> dict[str, Any]:
    """Return what :func:`fuzztui.cli.score.ask_score` would. Raises :class:`CliError`.

    ``mutants``: their number. ``jobs``: local slots, if the configuration has no number.
    ``parts``: the number of jobs; 0: by the slots and the mutants.
    """
    inputs = [str(file) for folder in corpus for file in _files(folder)]
    if not inputs:
        raise CliError(f"{', '.join(map(str, corpus))}: no readable input to score")
    work = ScoreWork(
        run.path / "campaign.toml",
        overrides,
        Path.cwd(),
        run.instance("main"),
        inputs,
        matrix,
    )
    try:
        place = open_place(config, jobs, say)
    except ClusterError as e:
        raise UsageError(f"{e} (--cluster none scores on this machine)") from None
    try:
        folder = run.supervisor / "jobs"
        folder.mkdir(mode=0o700, exist_ok=True)
        _remove_old(folder)
        needed = [campaign.target["python"], *campaign.target["path"], inputs[0]]
        if config.python:
            needed.remove(campaign.target["python"])
        if lacking := check_workers(place, needed, folder):
            more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            raise UsageError(f"{place.describe()}: {lacking[0]}{more}")
        scorer = _ClusterScore(work, place, folder, mutants, parts, within_s)
        return scorer.run()
    except ClusterError as e:
        raise CliError(str(e)) from None
    except QueueError as e:
        raise UsageError(str(e)) from None
    finally:
        place.close()


def _files(folder: Path) -> list[Path]:
    """The files in the order in which an engine reads them."""
    if folder.is_file():
        return [folder]
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


@dataclass(slots=True)
class _ClusterScore:
    """The rounds of one score: all shards, then what is left or doubtful."""

    work: ScoreWork
    place: Place
    folder: Path
    mutants: int
    parts: int
    within_s: float
    began: float = field(default_factory=time.monotonic)

    def run(self) -> dict[str, Any]:
        """Score all mutants. Raises :class:`CliError`, QueueError."""
        digest = self._digest()
        journal = self.folder / f"score-{digest[:16]}.jsonl"
        of = self.parts or _shards_in(journal) or self._shards()
        ids = [f"{n}of{of}" for n in range(of)]
        parts = self._round(journal, f"{digest}/{of}", ids, self._shard)
        if len({part["digest"] for part in parts.values()}) > 1:
            # Some are from an earlier, interrupted command, and the program has changed since.
            journal.unlink(missing_ok=True)
            say("the program or its inputs have changed; all parts are scored again")
            parts = self._round(journal, f"{digest}/{of}", ids, self._shard)
        self._refuse_mixture(parts.values())
        results = [parts[id_] for id_ in ids if id_ in parts]
        if left := [n for n, id_ in enumerate(ids) if id_ not in parts]:  # the time is over
            late = self.work.request(shards=left, of=of, within_s=_TINY_S)
            results += self._more("left", late)
        for n in range(_MAX_ROUNDS):
            if not (doubtful := doubtful_of(results)):
                break
            flaky = flaky_of(results)
            again = self.work.request(only=doubtful, flaky=flaky, within_s=self._left_s())
            results += [{**part, "again": True} for part in self._more(f"again{n}", again)]
        self._refuse_mixture(results)
        answer = merged(results)
        if answer["total"] != results[0]["total"]:
            raise CliError("the parts of the score do not have all mutants together")
        journal.unlink(missing_ok=True)
        return answer

    def _shard(self, id_: str) -> str:
        n, _, of = id_.partition("of")
        return self.work.request(shards=[int(n)], of=int(of), within_s=self._left_s())

    def _more(self, id_: str, request: str) -> list[dict[str, Any]]:
        """Run one more part. Its journal is not kept: it depends on all parts before it."""
        journal = self.folder / f"score-{id_}-{time.time_ns()}.jsonl"
        try:
            return list(self._round(journal, id_, [id_], lambda _: request).values())
        finally:
            journal.unlink(missing_ok=True)

    def _round(
        self, journal: Path, bag: str, ids: Sequence[str], text: Callable[[str], str]
    ) -> dict[str, dict[str, Any]]:
        """Run jobs; return the results by id. Jobs that did not start in time have none."""
        queue = JobQueue(journal, bag, ids)
        shown = _ShardProgress(queue, self.place)
        try:
            if queue.resumed:
                done = queue.counts[JobState.DONE]
                say(f"{done} of {several(len(ids), 'part')} were scored before; they are kept")

            def request(id_: str) -> Mapping[str, Any]:
                argv = ["", "-P", "-m", "fuzztui.features.mutants.score_job", "request.json"]
                return request_of(argv, files={"request.json": text(id_)})

            bag_ = Bag(queue, self.place, request, check=lambda _, r: damage_of(r), listener=shown)

            def over() -> bool:
                if (
                    self.within_s
                    and time.monotonic() - self.began >= self.within_s
                    and len(ids) > 1
                ):
                    for id_ in queue.waiting():
                        bag_.skip(id_, "the time is over")
                return bool(queue.counts[JobState.FAILED])

            bag_.run(over)
        finally:
            shown.clear()
            queue.close()
        for job in queue.jobs.values():
            if job.state == JobState.FAILED:
                raise CliError(f"part {job.id} of the score: {job.why}")
        return {j.id: j.result for j in queue.jobs.values() if j.result is not None}

    def _left_s(self) -> float:
        """Seconds until the time limit; 0: there is none."""
        if not self.within_s:
            return 0.0
        return max(_TINY_S, self.within_s - (time.monotonic() - self.began))

    def _shards(self) -> int:
        slots = max(1, self.place.slots())
        return max(1, min(slots * _SHARDS_PER_SLOT, self.mutants // _MIN_MUTANTS))

    def _digest(self) -> str:
        """A hash of all on which the results of parts depend, except for the program's code.

        The code is compared by the digest in each part's result.
        """
        files = [(name, *_stamp(Path(name))) for name in self.work.inputs]
        request = json.loads(self.work.request())
        del request["part"]
        matrix = () if self.work.matrix is None else _stamp(self.work.matrix)
        frozen = _stamp(self.work.campaign)
        data = [__version__, request, files, matrix, frozen, self.within_s, self.mutants]
        return hashlib.sha256(json.dumps(data).encode()).hexdigest()

    def _refuse_mixture(self, parts: Any) -> None:
        if len({part["digest"] for part in parts}) > 1:
            raise CliError(
                "the program or its inputs changed while they were scored, or are not the same on "
                "all workers; score again"
            )


def _remove_old(folder: Path) -> None:
    """Remove journals of scores that were not continued, all but the newest."""
    journals = sorted(folder.glob("score-*.jsonl"), key=_stamp_time)
    for journal in journals[:-_KEPT]:
        journal.unlink(missing_ok=True)


def _stamp_time(file: Path) -> int:
    return _stamp(file)[1]


def _stamp(file: Path) -> tuple[int, int]:
    found = status(file)
    return (-1, -1) if found is None else (found.st_size, found.st_mtime_ns)


def _shards_in(journal: Path) -> int:
    """The number of shards of an interrupted score; 0: there is none."""
    try:
        with journal.open("rb") as file:
            bag = json.loads(file.readline(1000)).get("bag", "")
        return int(str(bag).rpartition("/")[2])
    except (OSError, ValueError, AttributeError):
        return 0


class _ShardProgress(BagListener):
    """One line: how much of the work is done, kills, the time that is left."""

    def __init__(self, queue: JobQueue, place: Place) -> None:
        self._queue, self._place = queue, place
        self._line = TextLine(PROGRESS_EVERY_S)
        self._parts: dict[str, tuple[float, int]] = {}
        """By running job: the share that is done, and killed mutants."""
        self._began = time.monotonic()
        self._first = self._done()
        self._killed = sum(map(_kills, queue.jobs.values()))

    def on_progress(self, job: QueuedJob, data: dict[str, Any]) -> None:
        """A part has reported its progress."""
        report = data.get("progress")
        if not isinstance(report, dict):
            return
        numbers = [report.get(key) for key in ("done", "total", "killed")]
        done, total, killed = (n if type(n) is int else 0 for n in numbers)
        loading = report.get("what") == "loading the target"
        self._parts[job.id] = (0.0 if loading or not total else min(1.0, done / total), killed)

    def on_end(self, job: QueuedJob) -> None:
        """A part has ended, or was lost."""
        self._parts.pop(job.id, None)
        self._killed += _kills(job)
        if job.state == JobState.WAITING:
            say(f"part {job.id} is scored again: {job.why}")

    def on_note(self, text: str) -> None:
        """The place is away, or back."""
        say(text)

    def on_look(self) -> None:
        """Show the line."""
        done, all_ = self._done(), len(self._queue.jobs)
        left = time_left(
            time.monotonic() - self._began,
            round(1000 * (done - self._first)),
            round(1000 * (all_ - done)),
        )
        parts = f"{self._queue.counts[JobState.DONE]} of {several(all_, 'part')}"
        running = self._queue.counts[JobState.RUNNING]
        killed = self._killed + sum(kills for _, kills in self._parts.values())
        self._line.show(
            f"score: {100 * done / all_:.0f}%, {parts} done, {running} on "
            f"{self._place.describe()}, {several(killed, 'mutant')} killed{left}"
        )

    def clear(self) -> None:
        """Clear the line."""
        self._line.clear()

    def _done(self) -> float:
        ended = sum(self._queue.counts[s] for s in (JobState.DONE, JobState.CANCELLED))
        return ended + sum(share for share, _ in self._parts.values())


def _kills(job: QueuedJob) -> int:
    """The number of mutants that a part has killed; 0 if it has no result."""
    rows = job.result["mutants"] if job.result is not None else ()
    return sum(row["state"] == "killed" for row in rows)
