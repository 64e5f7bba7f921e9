"""Triage: run every crash and hang that AFL++ saves once more, and describe it.

Findings are run one at a time, niced, with a rest after each, because fuzzing goes first. The next
supervisor describes the findings that are left at the end of this one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.model.passive import ORACLE
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, FindingDescribed, FindingSaved
from fuzztui.kernel.wire.finding_kinds import HANG, UNDESCRIBED
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Triage
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.triage.examine import Reproduction, examine_input, printable
from fuzztui.run.triage.program import TargetProgram, find_file
from fuzztui.run.triage.sandbox import open_sandbox, remove_sandboxes

REST = 0.5
MIN_REST_S, MAX_REST_S = 0.05, 0.5
"""Rest after each finding, as a part of the time that it took, within bounds (in seconds)."""

HANGS_EVERY = 4
"""If both wait, each fourth finding is a hang: a hang takes ten times as long as a crash."""

AGAIN_S, MAX_AGAIN_S = 5.0, 600.0
"""Seconds after which a finding is tried again if the machine lacked something (a full disk, no
more processes): the first delay, doubled each time, and the longest."""

MAX_INPUT = 64 << 20


class AflTriage(Triage):
    """Describes findings that wait. Runs in the event loop.

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

    def saw(self, event: Event) -> None:
        """Note a saved finding; those of the program oracle are described already."""
        if not isinstance(event, FindingSaved) or event.instance == ORACLE:
            return
        key = (event.instance, event.file)
        if key not in self._known:
            self._known.add(key)
            self._put(event)
            self._more.set()

    async def run(self) -> None:
        """Describe old and new findings until cancelled."""
        await asyncio.to_thread(self._mark.kill_leftovers)  # runs of an earlier supervisor
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
        """Describe the findings that are left, without rests. May be cancelled."""
        while self.left:
            await self._step()

    @property
    def waiting(self) -> int:
        """Number of findings that wait to be run."""
        return len(self._crashes) + len(self._hangs)

    @property
    def left(self) -> int:
        """Number of findings without a description, including the one that is being run."""
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
        """Try the finding again later. Returns a description that says so the first time only."""
        key = (finding.instance, finding.file)
        before = self._delays.get(key)
        delay = min(2 * before, MAX_AGAIN_S) if before else AGAIN_S
        self._delays[key] = delay
        asyncio.get_running_loop().call_later(delay, self._again, finding)
        return None if before else description(finding, _not_run(f"{error}: tried again later"))

    def _again(self, finding: FindingSaved) -> None:
        self._put(finding)
        self._more.set()

    def _put(self, finding: FindingSaved) -> None:
        (self._hangs if finding.category == HANG.category else self._crashes).append(finding)

    def _next(self) -> FindingSaved:
        """Alternately the newest (users wait for it) and the oldest finding; hangs less often."""
        self._turn += 1
        hang = self._hangs and (not self._crashes or self._turn % HANGS_EVERY == 0)
        queue = self._hangs if hang else self._crashes
        return queue.popleft() if self._turn % 2 == 0 else queue.pop()

    async def _describe(self, finding: FindingSaved) -> FindingDescribed:
        """Raises OSError for a problem that may pass."""
        shown = ""
        try:
            data = await asyncio.to_thread(self._read, finding)
            shown = printable(data)
            result = await examine_file(
                await asyncio.to_thread(self._program, finding.instance),
                finding.category,
                data,
                sig=finding.sig,
                mark=self._mark,
            )
        except SupervisorError as e:
            result = _not_run(str(e))
        except OSError:
            raise
        except Exception as e:  # unexpected output of gdb or the target
            result = _not_run(f"internal error: {e!r}")
        return description(finding, result, shown)

    def _read(self, finding: FindingSaved) -> bytes:
        directory = self._run_dir.instance(finding.instance)
        for _ in range(2):  # a resumed afl-fuzz may move the file in between
            try:
                if path := find_file(directory, finding.file):
                    return read_regular(path, MAX_INPUT)
            except FileNotFoundError:
                continue
        raise SupervisorError(f"{directory / finding.file}: the file no longer exists")

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
    """Run an input again. ``category``: crash, hang, or an empty string if unknown.

    ``on_output`` is called with the target's output. Raises :class:`SupervisorError` or OSError if
    the target cannot be run.
    """
    if reason := program.missing():
        raise SupervisorError(reason)
    with open_sandbox(program, data, mark) as place:
        return await examine_input(place, category, sig, on_output)


def description(finding: FindingSaved, result: Reproduction, shown: str = "") -> FindingDescribed:
    """Return the event about a result; ``shown``: a short form of the input."""
    return FindingDescribed(
        finding.instance,
        finding.category,
        finding.file,
        result.signature,
        result.title,
        result.place,
        result.detail,
        shown,
        frames=result.frames,
        basis=result.basis,
    )


def _not_run(why: str) -> Reproduction:
    """A result without a signature, so that the next supervisor tries again."""
    return Reproduction("", "could not be run again", "", visible(why, lines=True))


def category_of(file: Path) -> str:
    """Return AFL++'s category of a file, from its directory: crash, hang, or an empty string."""
    folder = file.parent.name.partition(".")[0]
    return UNDESCRIBED[folder].category if folder in UNDESCRIBED else ""
