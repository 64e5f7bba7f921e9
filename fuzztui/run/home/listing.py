"""A list of runs: find them, and update their summaries within a bounded time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fuzztui.kernel.remote.address import supervised_runs
from fuzztui.run.home.finding import FoundRuns, find_runs, is_run
from fuzztui.run.home.kept import KeptSummaries
from fuzztui.run.home.look import RunLook
from fuzztui.run.home.summary import order


class RunList:
    """The runs below some directories, and those under way elsewhere on this machine.

    Not safe for use by two threads at once.
    """

    def __init__(self, places: Iterable[Path], kept: KeptSummaries | None = None) -> None:
        self._places = [*places]
        self._kept = KeptSummaries() if kept is None else kept
        self._looks: dict[Path, RunLook] = {}
        self.found = FoundRuns([], [])
        """The outcome of the last search."""

    def find(self) -> None:
        """Search the directories again; deleted runs are dropped.

        A run elsewhere on this machine stays in the list when it has ended: the user may resume it.
        """
        self.found = find_runs(place for place in self._places if place.exists())
        here = {run.resolve(): run for run in self.found.runs}
        supervised = {run for run in supervised_runs() if run not in here and is_run(run)}
        # The run of a target lies in that of its campaign, whose row stands for all targets.
        whole = {*here, *supervised}
        here |= {run: run for run in supervised if whole.isdisjoint(run.parents)}
        for real in [*self._looks]:
            if real not in here and not is_run(real):
                self._looks.pop(real).close()
        for real, run in here.items():
            if real not in self._looks:
                self._looks[real] = look = RunLook(run)
                if summary := self._kept.get(real):
                    look.take(summary)

    @property
    def looks(self) -> list[RunLook]:
        """All runs, the running ones first, then the newest."""
        return sorted(self._looks.values(), key=lambda look: order(look.summary, look.run))

    @property
    def unread(self) -> list[RunLook]:
        """The runs whose log was not read to its end at the last look."""
        return [look for look in self._looks.values() if not look.done]

    def refresh(self, looks: Sequence[RunLook], seconds: float) -> Iterator[RunLook]:
        """Look at each of the runs, with ``seconds`` for each; yield it afterwards."""
        for look in looks:
            was = look.summary
            if not is_run(look.run):  # deleted meanwhile
                look.close()
                self._looks = {real: of for real, of in self._looks.items() if of is not look}
                continue
            if look.look(seconds) and look.files and look.summary is not was:
                self._kept.keep(look.run.resolve(), look.summary, look.files)
            yield look

    def close(self) -> None:
        """Close all logs, and keep the summaries."""
        for look in self._looks.values():
            look.close()
        self._kept.store()
