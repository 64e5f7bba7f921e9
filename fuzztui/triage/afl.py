"""Triage: every crash and hang that AFL++ saves is run once more, and described.

One at a time, niced, and with a rest after each: fuzzing goes first. What is not yet
described when the supervisor ends is taken up by the next.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from fuzztui.base.files import read_regular
from fuzztui.base.text import visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.model.oracle import ORACLE
from fuzztui.model.state import State
from fuzztui.process.execute import ProcessMark
from fuzztui.triage.examine import (
    Reproduction,
    examine_crash,
    examine_hang,
    examine_other,
    printable,
)
from fuzztui.triage.program import TargetProgram, find_file
from fuzztui.triage.sandbox import open_sandbox, remove_sandboxes
from fuzztui.wire.events import Event, FindingDescribed, FindingSaved

__all__ = ["AflTriage", "category_of", "examine_file"]

REST = 0.5
MIN_REST_S, MAX_REST_S = 0.05, 0.5
"""Rest after each finding: so much of the time that it took, within bounds."""

HANGS_EVERY = 4
"""One finding in so many is a hang where both wait: it takes ten times as long as a crash."""

AGAIN_S, MAX_AGAIN_S = 5.0, 600.0
"""After how long a finding is tried again for which the machine lacked something (a full disk,
no more processes): at first, and, doubled each time, at most."""

MAX_INPUT = 64 << 20


class AflTriage:
    """The queue of findings that wait to be described. Runs in the event loop.

    :param record: logs an event.
    :param state: the campaign, folded from its log.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], None], state: State
    ) -> None:
        self._campaign, self._run_dir = campaign, run_dir
        self._record, self._state = record, state
        self._mark = ProcessMark(run_dir.path, "triage")
        self._crashes: deque[FindingSaved] = deque()
        self._hangs: deque[FindingSaved] = deque()
        self._known: set[tuple[str, str]] = set()
        self._delays: dict[tuple[str, str], float] = {}
        self._more = asyncio.Event()
        self._turn = 0
        self._one = asyncio.Lock()
        self._programs: dict[str, TargetProgram] = {}

    def saw(self, event: FindingSaved) -> None:
        """A finding was saved: it will be described, unless the oracle does that."""
        if event.instance == ORACLE:
            return
        key = (event.instance, event.file)
        if key not in self._known:
            self._known.add(key)
            self._put(event)
            self._more.set()

    async def run(self) -> None:
        """Describe what there is and what comes, for ever. To be cancelled."""
        await asyncio.to_thread(self._mark.kill_leftovers)  # what an earlier supervisor was at
        await asyncio.to_thread(remove_sandboxes, self._run_dir.path)
        for row in list(self._state.findings.values()):
            if row.saved and not row.signature:
                self.saw(FindingSaved(row.instance, row.category, row.file, sig=row.sig))
        while True:
            while not self.waiting:
                self._more.clear()
                await self._more.wait()
            began = time.monotonic()
            await self._step()
            rest = REST * (time.monotonic() - began)
            await asyncio.sleep(min(max(MIN_REST_S, rest), MAX_REST_S))

    async def finish(self) -> None:
        """Describe what is left, without rest. May be cancelled."""
        while self.left:
            await self._step()

    @property
    def waiting(self) -> int:
        """How many findings are still to be described."""
        return len(self._crashes) + len(self._hangs)

    @property
    def left(self) -> int:
        """With the one that is being run."""
        return self.waiting + self._one.locked()

    async def _step(self) -> None:
        async with self._one:
            if not self.waiting:
                return
            finding = self._next()
            described: FindingDescribed | None
            try:
                described = await self._describe(finding)
            except asyncio.CancelledError:
                self._put(finding)
                raise
            except OSError as e:
                described = self._later(finding, e)
            if described:
                self._record(described)

    def _later(self, finding: FindingSaved, error: OSError) -> FindingDescribed | None:
        """Try again when the machine may have what it lacks now. Said once a finding."""
        key = (finding.instance, finding.file)
        before = self._delays.get(key)
        delay = min(2 * before, MAX_AGAIN_S) if before else AGAIN_S
        self._delays[key] = delay
        asyncio.get_running_loop().call_later(delay, self._again, finding)
        return None if before else _description(finding, _not_run(f"{error}: to be tried again"))

    def _again(self, finding: FindingSaved) -> None:
        self._put(finding)
        self._more.set()

    def _put(self, finding: FindingSaved) -> None:
        (self._hangs if finding.category == "hang" else self._crashes).append(finding)

    def _next(self) -> FindingSaved:
        """People wait for the newest; but neither the oldest nor a hang must wait for ever."""
        self._turn += 1
        hang = self._hangs and (not self._crashes or self._turn % HANGS_EVERY == 0)
        queue = self._hangs if hang else self._crashes
        return queue.popleft() if self._turn % 2 == 0 else queue.pop()

    async def _describe(self, finding: FindingSaved) -> FindingDescribed:
        """Raises OSError for what may be otherwise in a while."""
        shown = ""
        try:
            data = await asyncio.to_thread(self._read, finding)
            shown = printable(data)
            verdict = await examine_file(
                await asyncio.to_thread(self._program, finding.instance),
                finding.category,
                data,
                sig=finding.sig,
                mark=self._mark,
            )
        except SupervisorError as e:
            verdict = _not_run(str(e))
        except OSError:
            raise
        except Exception as e:  # gdb or the target found something that nobody foresaw
            verdict = _not_run(f"internal error: {e!r}")
        return _description(finding, verdict, shown)

    def _read(self, finding: FindingSaved) -> bytes:
        directory = self._run_dir.instance(finding.instance)
        for _ in range(2):  # a resumed afl-fuzz may put it away in between
            try:
                if path := find_file(directory, finding.file):
                    return read_regular(path, MAX_INPUT)
            except FileNotFoundError:
                continue
        raise SupervisorError(f"{directory / finding.file}: the file is not there any more")

    def _program(self, instance: str) -> TargetProgram:
        if instance not in self._programs:
            self._programs[instance] = TargetProgram.of(
                self._campaign, self._run_dir.instance(instance)
            )
        return self._programs[instance]


async def examine_file(
    program: TargetProgram,
    category: str,
    data: bytes,
    *,
    sig: int = 0,
    mark: ProcessMark | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> Reproduction:
    """Run an input again: what comes of it. ``category`` is crash, hang, or "" .

    ``told`` gets what the target prints. Raises :class:`SupervisorError`, OSError where the
    target cannot be run.
    """
    if words := program.missing():
        raise SupervisorError(words)
    with open_sandbox(program, data, mark) as place:
        if category == "hang":
            return await examine_hang(place, on_output)
        if category == "crash":
            return await examine_crash(place, sig, on_output)
        return await examine_other(place, on_output)


def _description(finding: FindingSaved, verdict: Reproduction, shown: str = "") -> FindingDescribed:
    return FindingDescribed(
        finding.instance,
        finding.category,
        finding.file,
        verdict.signature,
        verdict.title,
        verdict.place,
        verdict.detail,
        shown,
    )


def _not_run(why: str) -> Reproduction:
    """No signature: the next supervisor tries again."""
    return Reproduction("", "could not be run again", "", visible(why, lines=True))


def category_of(file: Path) -> str:
    """What AFL++ takes a file for, by the directory that it is in: crash, hang, or "" ."""
    folder = file.parent.name.partition(".")[0]
    return {"crashes": "crash", "hangs": "hang"}.get(folder, "")
