"""Measure which lines new queue entries cover, in a helper process.

``python -P -m fuzztui.features.gcov.queue RUN`` builds the target for gcov in ``RUN/gcov``, reads
``RUN/out/*/queue`` once a second and runs each new entry. It prints JSON lines
(:mod:`fuzztui.run.process.helper`); events are ``{"event": LINE}``. The log is read first: what it
has is not reported again.

The process runs at low priority and exits with its parent. SIGTERM: measure the entries that are
left and exit; a second SIGTERM: exit at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fuzztui.features.fuzzfirst.coverage_tools import Gcov
from fuzztui.features.fuzzfirst.showmap import MAX_INPUT
from fuzztui.features.gcov.measure import KEY, TOGETHER, EntryMeasurement, build_for, read_entry
from fuzztui.features.source.fold import LineCoverage
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.codec import encode_event
from fuzztui.kernel.wire.events import CoverageBuild, Event
from fuzztui.run.campaign import Campaign, CampaignError, load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.observe.afl_names import parse_name
from fuzztui.run.observe.queues import Found, Queues
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.process.helper import CANNOT, begin, say

EVERY_S: Final = 1.0
AT_ONCE: Final = 1000
"""Most entries of one queue in one pass over all queues."""
NICE: Final = 15


def _report(event: Event) -> None:
    say("event", encode_event(event))


def known_lines(run_dir: RunDir) -> tuple[dict[str, tuple[str, set[int], set[int]]], str]:
    """Return hash, covered lines and covered branches of the files in the log, by path.

    And the tool that has measured them, an empty string if there are none: the numbers of lines and
    branches are its own.
    """
    state = State()
    with contextlib.suppress(LogError, OSError):
        apply(state, LogReader(run_dir.log).records())
    lines = LineCoverage()
    lines.take(state)
    known = {
        path: (file.row.sha, set(file.first), set(file.taken)) for path, file in lines.files.items()
    }
    return known, state.coverage_tool or Gcov.name if known else ""


class GcovQueue:
    """The entries that wait to be measured."""

    def __init__(self, run_dir: RunDir, campaign: Campaign) -> None:
        self._run_dir = run_dir
        known, tool = known_lines(run_dir)
        self._build = build_for(campaign, run_dir, run_dir.path / "gcov", "gcov-runs", tool)
        self._measurement = EntryMeasurement(self._build, _report, known)
        self._queues = Queues(run_dir.out, MAX_INPUT)
        self._waiting: list[tuple[str, str]] = []
        """Instance and file name: contents are read when it is an entry's turn."""
        self.last = False
        """Whether the engines have ended."""
        self.built = False

    async def run(self, parent: int) -> None:
        """Build, then measure entries until the parent is gone, or :attr:`last`."""
        try:
            await self._build.make(lambda text: _report(CoverageBuild("building", text)))
            await asyncio.to_thread(self._measurement.start)
        except (SupervisorError, OSError, ValueError, LookupError, TypeError) as e:
            _report(CoverageBuild("failed", str(e)))
            return
        self.built = True
        state = ""
        while os.getppid() == parent and self._run_dir.out.is_dir():
            last = self.last
            self._look(last=last)
            now = "measuring" if self._waiting else "ready"
            if now != state:
                state = now
                _report(CoverageBuild(now, tool=self._build.tool.name))
            say("figures", {"pending": len(self._waiting)})
            if self._waiting:
                part = self._waiting[:TOGETHER]
                try:
                    await self._measurement.measure([*self._read(part)])
                except (SupervisorError, OSError, ValueError, LookupError, TypeError) as e:
                    say("problem", f"{KEY}: {e}")
                    await asyncio.sleep(EVERY_S)
                del self._waiting[: len(part)]
            elif last:
                return
            else:
                await asyncio.sleep(EVERY_S)

    def _look(self, *, last: bool) -> None:
        new = [
            (found.instance, found.name)
            for queue in self._queues.look()
            for found in queue.entries(AT_ONCE, last=last)
        ]
        if new:
            self._waiting += new
            self._waiting.sort(key=lambda entry: parse_name(entry[1]).time_ms)

    def _read(self, part: Sequence[tuple[str, str]]) -> Iterator[Found]:
        """Yield the entries that still exist; one that was renamed meanwhile is found again."""
        for instance, name in part:
            found = read_entry(self._run_dir.instance(instance) / "queue" / name)
            if found is not None:
                yield found

    def remove(self) -> None:
        """Delete the build."""
        self._build.remove()


async def _main(queue: GcovQueue) -> None:
    parent = os.getppid()
    job = asyncio.ensure_future(queue.run(parent))

    def end() -> None:
        if queue.last or not queue.built:
            job.cancel()
        queue.last = True

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    with contextlib.suppress(asyncio.CancelledError):
        await job


def main(arguments: Sequence[str]) -> int:
    """Run until SIGTERM, or until the parent or the run directory is gone. Returns the status."""
    run_dir = RunDir(Path(arguments[0]).absolute())
    begin(NICE)
    ProcessMark(run_dir.path, "gcov-runs").kill_leftovers()
    try:
        queue = GcovQueue(run_dir, load(run_dir.campaign).campaign)
    except (CampaignError, SupervisorError) as e:
        say("problem", f"{KEY}: {e}")
        return CANNOT
    try:
        asyncio.run(_main(queue))
    finally:
        queue.remove()
    return CANNOT  # after SIGTERM, or because no build can be made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
