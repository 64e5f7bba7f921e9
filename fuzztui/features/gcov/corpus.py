"""Run the entries of a run once more in a build for coverage: all counts of all files together."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from fuzztui.features.fuzzfirst.measured_file import MeasuredFile
from fuzztui.features.gcov.by_line import FirstEntries, run_in_order
from fuzztui.features.gcov.measure import build_for, measured_files, no_counts, read_entry
from fuzztui.features.source.executed import Coverage, CoveredInput, FileCoverage, Growth
from fuzztui.features.source.functions import function_coverage
from fuzztui.kernel.base.text import several
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.triage.sandbox import private_directory


async def corpus_coverage(
    campaign: Campaign,
    run_dir: RunDir,
    inputs: Sequence[CoveredInput],
    root: Path,
    *,
    note: Callable[[str], None],
    progress: Callable[[int], None],
    over_time: bool = False,
) -> Coverage:
    """Build the target for gcov or llvm-cov, run the inputs, and return their coverage.

    ``note`` is called with the tool, as text for users; ``progress`` with the number of inputs that
    ran. With ``over_time`` they run once more, to find the first input of each line. The build is
    removed at the end, also if this is cancelled. Raises OSError, ValueError, LookupError,
    TypeError, :class:`~fuzztui.run.campaign.rundir.SupervisorError`.
    """
    killed = skipped = 0
    growth: list[Growth] = []
    with private_directory(run_dir.path) as home:
        build = build_for(campaign, run_dir, home / "gcov", f"coverage-{os.getpid()}")
        await build.make(note)
        await asyncio.to_thread(build.clear)
        for done, each in enumerate(inputs, 1):
            if (entry := read_entry(each.file)) is None:
                skipped += 1
            elif not await build.run(entry.data):
                killed += 1
            progress(done)
        ran = len(inputs) - skipped
        if ran and not await asyncio.to_thread(build.has_counts):
            raise _all_killed(ran) if ran == killed else no_counts(build)
        found = await asyncio.to_thread(measured_files, build)
        if over_time:
            files = [each.file for each in inputs]
            growth = _growth(inputs, await run_in_order(build, files, progress, len(files)))
    text = f"{build.tool.name} measured {several(ran, 'input')}"
    if killed:
        text += (
            f"; the program was killed on {killed:,} of them, by a signal or at the time limit: "
            "their lines are missing unless the tool wrote its counts before"
        )
    if skipped:
        text += f"; {several(skipped, 'input')} left out: gone, empty or too large"
    return Coverage(
        [_file(path, root, file) for path, file in sorted(found.items())], root, growth, text
    )


def _all_killed(inputs: int) -> SupervisorError:
    return SupervisorError(
        f"the program was killed on {several(inputs, 'input')}, by a signal or at the time limit: "
        "it wrote no counts, so which lines it has executed is unknown"
    )


def _file(path: str, root: Path, file: MeasuredFile) -> FileCoverage:
    inside = Path(path)
    order = sorted(file.lines)
    hits = {line: count for line, count in file.lines.items() if count}
    arms: dict[int, list[int]] = {}
    for (line, _), taken in sorted(file.branches.items()):
        arms.setdefault(line, []).append(taken)
    return FileCoverage(
        str(inside.relative_to(root)) if inside.is_relative_to(root) else path,
        frozenset(order),
        frozenset(hits),
        [
            function_coverage(order, hits, name, first, last, calls=calls)
            for (first, last, name), calls in sorted(file.functions.items())
        ],
        {line: (a.count(0), len(a)) for line, a in arms.items() if any(a) and not all(a)},
        hits,
        file.branches,
    )


def _growth(inputs: Sequence[CoveredInput], first: FirstEntries) -> list[Growth]:
    new = Counter(entry for lines in first.lines.values() for entry in lines.values())
    total, growth = 0, []
    for each in inputs:
        if more := new.pop(each.key, 0):
            total += more
            growth.append(Growth(each.t, each.entry, total))
    return growth
