"""Run the entries of a run once more in a build for coverage: the first and smallest of each line.

The log of a campaign has the first entry of each line only.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzztui.features.fuzzfirst.measured_build import MeasuredBuild
from fuzztui.features.gcov.measure import TOGETHER, EntryMeasurement, build_for, read_entry
from fuzztui.kernel.base import ranges
from fuzztui.kernel.wire.events import Event, LinesCovered, SourceFile
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.triage.sandbox import private_directory


@dataclass(slots=True)
class FirstEntries:
    """The first of some entries, in the order in which they ran, that executes each line."""

    statements: dict[str, set[int]] = field(default_factory=dict)
    """By path."""
    lines: dict[str, dict[int, str]] = field(default_factory=dict)
    """By path and executed line: the entry as ``INSTANCE/ID``."""

    def take(self, event: Event) -> None:
        """Take an event of :class:`EntryMeasurement`."""
        if isinstance(event, SourceFile):
            self.statements[event.path] = ranges.decode(event.statements)
        elif isinstance(event, LinesCovered):
            for path, text in event.lines.items():
                found = self.lines.setdefault(path, {})
                found.update(dict.fromkeys(ranges.decode(text), f"{event.instance}/{event.entry}"))


async def first_entries(
    campaign: Campaign,
    run_dir: RunDir,
    orders: Sequence[Sequence[Path]],
    progress: Callable[[int], None],
    note: Callable[[str], None] = lambda _: None,
) -> list[FirstEntries]:
    """Build the target for coverage, and run its queue entries once for each order of them.

    ``note`` is called with the tool, as text for users. ``progress`` is called with the
    number of entries that were measured. The build is removed at the end, also if this is
    cancelled. Raises OSError, ValueError, LookupError, TypeError,
    :class:`~fuzztui.run.campaign.rundir.SupervisorError`.
    """
    found: list[FirstEntries] = []
    with private_directory(run_dir.path) as home:
        # Not the build of a running campaign: counts of both would be added up.
        build = build_for(campaign, run_dir, home / "gcov", f"coverage-{os.getpid()}")
        await build.make(note)
        for files in orders:
            found.append(await run_in_order(build, files, progress, len(found) * len(files)))
    return found


async def run_in_order(
    build: MeasuredBuild, files: Sequence[Path], progress: Callable[[int], None], before: int
) -> FirstEntries:
    """Run entries in a build. ``progress`` is called with ``before`` and those that are done.

    Raises as :func:`first_entries`.
    """
    done = before

    def measured(more: int) -> None:
        nonlocal done
        done += more
        progress(done)

    first = FirstEntries()
    measurement = EntryMeasurement(build, first.take, {})
    await asyncio.to_thread(measurement.start)
    for at in range(0, len(files), TOGETHER):
        part = files[at : at + TOGETHER]
        entries = [entry for entry in map(read_entry, part) if entry is not None]
        await measurement.measure(entries, measured)
        measured(len(part) - len(entries))  # those that are gone, empty or too large
    return first
