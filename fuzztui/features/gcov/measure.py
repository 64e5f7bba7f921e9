"""What queue entries cover first, by a build for gcov or llvm-cov: as events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.coverage_tools import AUTO
from fuzztui.features.fuzzfirst.measured_build import MeasuredBuild
from fuzztui.features.fuzzfirst.measured_file import MeasuredFile
from fuzztui.features.fuzzfirst.showmap import read_input
from fuzztui.kernel.base import ranges
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.wire.codec import MAX_EVENT, encode_event
from fuzztui.kernel.wire.events import Event, LinesCovered
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.observe.afl_names import parse_name
from fuzztui.run.observe.queues import Found
from fuzztui.run.process.execute import ProcessMark

KEY: Final = "target.coverage"
MAX_SOURCE: Final = 64 << 20
TOGETHER: Final = 32
"""Entries that run before gcov reads the counts."""


def build_for(
    campaign: Campaign, run_dir: RunDir, home: Path, label: str, tool: str = ""
) -> MeasuredBuild:
    """Return the build of a campaign's target for coverage, with its files in ``home``.

    ``tool``: an empty string: that of the campaign file. ``label``: marks the processes that it
    starts. All of these are killed after each input, so that no other process may use the label.
    """
    origin = Path(campaign.target["source"])
    # A run below the source is no part of it; others are usually beside it.
    runs = run_dir.path.parent
    without = [run_dir.path] if runs == origin or origin.is_relative_to(runs) else [runs]
    tree = BuildTree(home, origin, without)
    tool = tool or campaign.target.get("coverage_tool") or AUTO
    return MeasuredBuild(campaign, ProcessMark(run_dir.path, label), tree, KEY, tool)


def read_entry(file: Path) -> Found | None:
    """Return a queue entry; None if it is gone, empty or too large."""
    data = read_input(file)
    return None if data is None else Found(file.parent.parent.name, file.name, data)


class EntryMeasurement:
    """Runs entries, and reports the lines and branches that no earlier entry has covered."""

    def __init__(
        self,
        build: MeasuredBuild,
        report: Callable[[Event], None],
        known: Mapping[str, tuple[str, set[int], set[int]]],
    ) -> None:
        """``known``: hash, covered lines and branches of files that the log has, by path."""
        self._build, self._report, self._known = build, report, known
        self._left: dict[str, tuple[set[int], set[int]]] = {}
        """By path: lines and indexes of branches that no entry has covered."""
        self._numbers: dict[str, dict[tuple[int, int], int]] = {}
        self._has_counted = False

    def start(self) -> None:
        """Report the files. Blocking. Raises OSError, :class:`SupervisorError`."""
        self._build.clear()
        files = measured_files(self._build)
        for path, file in files.items():
            text = read_if_regular(file.path, MAX_SOURCE) or b""
            sha = sha256(text).hexdigest()[:16]
            event = file.event(path, sha)
            if len(encode_event(event)) >= MAX_EVENT:
                continue
            lines, branches = set(file.lines), set(range(len(file.branches)))
            before = self._known.get(path)
            if before is not None and before[0] == sha:
                lines -= before[1]
                branches -= before[2]
            else:
                self._report(event)
            self._left[path] = lines, branches
            self._numbers[path] = {key: n for n, key in enumerate(sorted(file.branches))}

    async def measure(
        self, entries: Sequence[Found], measured: Callable[[int], None] = lambda _: None
    ) -> None:
        """Run entries, the earliest first. Raises OSError, :class:`SupervisorError`.

        All run together, because most cover nothing new. If something is new, each half runs again,
        until a single entry has covered it.
        ``measured`` is called with numbers of entries whose measurement is complete.
        """
        if not entries:
            return
        await asyncio.to_thread(self._build.clear)
        for entry in entries:
            await self._build.run(entry.data)
        files: dict[str, MeasuredFile] = {}
        if await asyncio.to_thread(self._build.has_counts):
            self._has_counted = True
            files = await asyncio.to_thread(measured_files, self._build)
        elif not self._has_counted:  # else only this run was killed, mostly at its time limit
            raise no_counts(self._build)
        new = {path: found for path, file in files.items() if any(found := self._new(path, file))}
        if new and len(entries) > 1:
            half = len(entries) // 2
            await self.measure(entries[:half], measured)
            await self.measure(entries[half:], measured)
            return
        measured(len(entries))
        if not new:
            return
        lines, branches = {}, {}
        for path, (of_lines, of_branches) in new.items():
            self._left[path][0].difference_update(of_lines)
            self._left[path][1].difference_update(of_branches)
            lines[path], branches[path] = ranges.encode(of_lines), ranges.encode(of_branches)
        entry = entries[0]
        number = parse_name(entry.name).id
        self._report(
            LinesCovered(
                entry.instance,
                number,
                {path: text for path, text in lines.items() if text},
                {path: text for path, text in branches.items() if text},
            )
        )

    def _new(self, path: str, file: MeasuredFile) -> tuple[set[int], set[int]]:
        lines, branches = self._left.get(path, (set(), set()))
        numbers = self._numbers.get(path, {})
        taken = {numbers[key] for key, was in file.branches.items() if was and key in numbers}
        return {n for n, ran in file.lines.items() if ran} & lines, taken & branches


def measured_files(build: MeasuredBuild) -> dict[str, MeasuredFile]:
    """Return what the tool reports, by the path of the user's file. Blocks.

    Raises OSError, LookupError, TypeError, ValueError, :class:`SupervisorError`, also if it
    reports no file.
    """
    found: dict[str, MeasuredFile] = {}
    for path, counts in build.files():
        found.setdefault(str(build.user_path(path)), MeasuredFile(path)).add(counts)
    if not found:
        raise SupervisorError(
            f"{build.tool.name} knows no file of target.source: does target.build compile with "
            "$CC or $CXX?"
        )
    return found


def no_counts(build: MeasuredBuild) -> SupervisorError:
    """Return the error about a build of which no run has written counts."""
    return SupervisorError(
        f"the program that {build.tool.compiler} has built wrote no counts: does it end by _exit()?"
    )
