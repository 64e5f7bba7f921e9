"""Triage: run every crash and hang that AFL++ saves once more, and describe it.

Findings are run niced, with a rest after each, because fuzzing goes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.model.passive import ORACLE
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, FindingDescribed, FindingSaved
from fuzztui.kernel.wire.finding_kinds import HANG, UNDESCRIBED
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.binaries import binaries_of, binary_of, with_binary
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.triage.examine import Reproduction, examine_input, printable
from fuzztui.run.triage.program import TargetProgram, find_file
from fuzztui.run.triage.sandbox import open_sandbox, remove_sandboxes
from fuzztui.run.triage.waiting import Triage

REST = 0.5
MIN_REST_S, MAX_REST_S = 0.05, 0.5
"""The rest after each finding is ``REST`` times the time that it took, within these seconds."""

HANGS_EVERY = 4
"""If both wait, each fourth finding is a hang: a hang takes ten times as long as a crash."""

AGAIN_S, MAX_AGAIN_S = 5.0, 600.0
"""Seconds after which a finding is tried again if the machine lacked something (a full disk, no
more processes): the first delay, doubled each time, and the longest."""

MAX_INPUT = 64 << 20


class AflTriage(Triage):
    """Describes crashes and hangs."""

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], None], state: State
    ) -> None:
        super().__init__(record, state)
        self._campaign, self._run_dir = campaign, run_dir
        self._mark = ProcessMark(run_dir.path, "triage")
        self._delays: dict[tuple[str, str], float] = {}
        self._turn = 0
        self._programs: dict[tuple[str, str], list[TargetProgram]] = {}

    def _is_for(self, finding: FindingSaved) -> bool:
        return finding.instance != ORACLE  # the oracle describes its findings itself

    async def run(self) -> None:
        """Describe old and new findings until cancelled."""
        await asyncio.to_thread(self._mark.kill_leftovers)  # runs of an earlier supervisor
        await asyncio.to_thread(remove_sandboxes, self._run_dir.path)
        await super().run()

    def _rest_s(self, took_s: float) -> float:
        return min(max(MIN_REST_S, REST * took_s), MAX_REST_S)

    def _next(self) -> FindingSaved:
        """Alternately the newest (users wait for it) and the oldest finding; hangs less often."""
        self._turn += 1
        hangs = [finding for finding in self._waiting if finding.category == HANG.category]
        crashes = [finding for finding in self._waiting if finding.category != HANG.category]
        hang = hangs and (not crashes or self._turn % HANGS_EVERY == 0)
        finding = (hangs if hang else crashes)[0 if self._turn % 2 == 0 else -1]
        self._waiting.remove(finding)
        return finding

    async def _describe(self, finding: FindingSaved) -> FindingDescribed | None:
        shown = ""
        try:
            data = await asyncio.to_thread(self._read, finding)
            shown = printable(data)
            _, result = await examine_in_turn(
                await asyncio.to_thread(self._programs_of, finding.instance, finding.category),
                finding.category,
                data,
                sig=finding.sig,
                mark=self._mark,
            )
        except SupervisorError as e:
            result = _not_run(str(e))
        except OSError as e:
            return self._later(finding, e)
        except Exception as e:  # unexpected output of gdb or the target
            result = _not_run(f"internal error: {e!r}")
        return description(finding, result, shown)

    def _later(self, finding: FindingSaved, error: OSError) -> FindingDescribed | None:
        """Try the finding again later. Returns a description that says so the first time only."""
        key = (finding.instance, finding.file)
        before = self._delays.get(key)
        delay = min(2 * before, MAX_AGAIN_S) if before else AGAIN_S
        self._delays[key] = delay
        asyncio.get_running_loop().call_later(delay, self._put, finding)
        return None if before else description(finding, _not_run(f"{error}: tried again later"))

    def _read(self, finding: FindingSaved) -> bytes:
        directory = self._run_dir.instance(finding.instance)
        for _ in range(2):  # a resumed afl-fuzz may move the file in between
            try:
                if path := find_file(directory, finding.file):
                    return read_regular(path, MAX_INPUT)
            except FileNotFoundError:
                continue
        raise SupervisorError(f"{directory / finding.file}: the file no longer exists")

    def _programs_of(self, instance: str, category: str) -> list[TargetProgram]:
        key = (instance, category)
        if key not in self._programs:
            directory = self._run_dir.instance(instance)
            self._programs[key] = programs_of(self._campaign, directory, category)
        return self._programs[key]


def programs_of(
    campaign: Campaign, directory: Path | None, category: str = ""
) -> list[TargetProgram]:
    """Return the binaries to run a finding with, one after the other until one fails.

    First the one whose report says most, for example with AddressSanitizer; then the one that the
    instance in ``directory`` runs (None: the plain one). A hang is run with that alone.
    Raises :class:`SupervisorError` if the target cannot be run without the fuzzer.
    """
    own = None if directory is None else binary_of(campaign, directory.name)
    reporting = [one for one in binaries_of(campaign) if one.variant.sanitizer]
    first = reporting[:1] if category != HANG.category else []
    binaries = [*first, *([own] if own not in first else [])]
    return [TargetProgram.of(with_binary(campaign, one), directory) for one in binaries]


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


async def examine_in_turn(
    programs: Sequence[TargetProgram], category: str, data: bytes, **options: Any
) -> tuple[TargetProgram, Reproduction]:
    """Call :func:`examine_file` with ``programs`` until one fails.

    Returns the last program that ran, and its result.
    """
    *others, last = programs
    for program in others:
        result = await examine_file(program, category, data, **options)
        if result.is_failure:
            return program, result
    return last, await examine_file(last, category, data, **options)


def description(finding: FindingSaved, result: Reproduction, shown: str = "") -> FindingDescribed:
    """Return the event about a result; ``shown``: a short form of the input."""
    described = FindingDescribed(
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
    return result.severity.put_in(described)


def _not_run(why: str) -> Reproduction:
    """A result without a signature, so that the next supervisor tries again."""
    return Reproduction("", "could not be run again", "", visible(why, lines=True))


def category_of(file: Path) -> str:
    """Return AFL++'s category of a file, from its directory: crash, hang, or an empty string."""
    folder = file.parent.name.partition(".")[0]
    return UNDESCRIBED[folder].category if folder in UNDESCRIBED else ""
