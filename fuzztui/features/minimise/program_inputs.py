"""Minimise a finding of an AFL++ campaign with afl-tmin, and report the progress.

A finding of the program oracle is minimised without afl-tmin, which does not support oracles.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from fuzztui.engines.inputs.attempts import Attempt
from fuzztui.engines.inputs.reduce import Reducer, shrink
from fuzztui.features.minimise.rewrite import Search, instance_of, rewrite
from fuzztui.features.oracle.judge import OracleJudge
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.text import several, span, visible
from fuzztui.kernel.model.passive import ORACLE
from fuzztui.kernel.wire.finding_kinds import HANG
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessResult, execute
from fuzztui.run.process.service import Progress
from fuzztui.run.triage.afl import (
    MAX_INPUT,
    category_of,
    examine_file,
    examine_in_turn,
    programs_of,
)
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import Sandbox, open_sandbox

CHECK_S = 1.0
"""Minimum time limit of a run, in seconds: with AFL++'s own tight limit, a slow run would count as
another outcome."""

LONGEST_S = 900.0
"""Seconds after which afl-tmin is stopped; it then writes the smallest input found."""

_GRACE_S = 30.0
"""Seconds for afl-tmin to exit after that."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])|[\x0e\x0f]")
_LEFT = re.compile(r"Block length = (\d+), remaining size = (\d+)")
_STAGE = re.compile(r"Stage #(\d): (.*?)\.*\s*\Z")
_PASS = re.compile(r"--- Pass #(\d+) ---")
_REASON = re.compile(r"\[-\] +(?:PROGRAM ABORT|SYSTEM ERROR) : (.*)")


async def minimise(
    campaign: Campaign, run_dir: RunDir, file: Path, output: Path, search: Search
) -> str:
    """Write a smaller input with the same outcome as ``file`` to ``output``. Returns a summary.

    Raises :class:`SupervisorError` with the reason if minimising fails.
    """

    async def shorten(data: bytes) -> tuple[bytes, str]:
        if judged_by_oracle(campaign, run_dir, file):
            return await minimise_by_oracle(OracleJudge.of(campaign, search.mark), data, search)
        category = category_of(file)
        programs = programs_of(campaign, instance_of(run_dir, file), category)
        return await _minimised(programs, category, data, search)

    return await rewrite(file, output, shorten)


async def _minimised(
    programs: Sequence[TargetProgram], category: str, data: bytes, search: Search
) -> tuple[bytes, str]:
    """Check the finding, run afl-tmin, compare the outcomes. Returns smaller input and note."""
    program = programs[-1]
    tool = program.tool("afl-tmin")
    if tool is None:
        raise SupervisorError(
            "afl-tmin was not found: install AFL++, or name its directory in engine.afl_path"
        )
    before = ""
    if category:
        search.progress("reproducing the finding", -1.0)
        program, reproduction = await examine_in_turn(programs, category, data, mark=search.mark)
        if reproduction.ended:
            raise SupervisorError(f"cannot minimise: {reproduction.title}")
        before = reproduction.signature
    if search.stop():
        raise SupervisorError("stopped before afl-tmin had started")
    with open_sandbox(program, data, search.mark) as place:
        shorter, note = await _shrink(place, tool, category, search)
    if before:
        search.progress("comparing the outcome", -1.0)
        after = await examine_file(program, category, shorter, mark=search.mark)
        if after.signature != before:
            note += f"; its outcome differs: {after.title}"
    return shorter, note


async def _shrink(place: Sandbox, tool: str, category: str, search: Search) -> tuple[bytes, str]:
    """Run afl-tmin. Returns the smaller input and a note for the summary."""
    program = place.program
    result = place.directory / "smaller"
    argv = ["nice", "-n", "10", tool, "-i", str(place.file), "-o", str(result)]
    limit = max(CHECK_S, program.timeout * (1 if category == HANG.category else 2))
    argv += ["-t", str(math.ceil(limit * 1000))]
    argv += ["-m", str(max(1, program.memory >> 20)) if program.memory else "none"]
    argv += ["-H"] if category == HANG.category else []
    if any("@@" in word for word in program.command):
        argv += ["-f", str(place.directory / f"trial-{program.input_name}")]
    argv += [*program.modes, "--", *program.command]
    env = {**program.env, "TMPDIR": str(place.directory)}
    if program.blind:
        env |= {"AFL_NO_FORKSRV": "1"}
    deadline = time.monotonic() + search.longest_s
    stopped = ""

    def stop_in_time(pid: int) -> None:
        nonlocal stopped
        late = time.monotonic() >= deadline
        if not stopped and (late or search.stop()):
            stopped = f"stopped after {span(search.longest_s)}" if late else "stopped"
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)

    outcome = await execute(
        argv,
        place.mark,
        cwd=place.cwd,
        limit=search.longest_s + _GRACE_S,
        env=env,
        stdout=True,
        terminal=True,
        meanwhile=stop_in_time,
        on_output=_Reader(place.file.stat().st_size, search.progress).take,
    )
    if stopped and outcome.status != 0:
        if not result.is_file():
            raise SupervisorError(f"afl-tmin: {stopped} before it wrote a result: slow runs?")
        return read_regular(result, MAX_INPUT), f"; {stopped}: more may be possible"
    if outcome.status != 0:
        raise SupervisorError(f"afl-tmin: {_reason(outcome)}")
    return read_regular(result, MAX_INPUT), ""


class _Reader:
    """Reads the output of afl-tmin, and reports progress with an estimate of the part done.

    afl-tmin makes passes over the input until a pass changes nothing; their number is unknown. Each
    pass counts as half of the remaining work, so that the estimate never decreases. In a pass two
    thirds are for blocks (one block length counts as much as all longer ones together), and one
    third is for single bytes.
    """

    def __init__(self, size: int, progress: Progress) -> None:
        self._size, self._progress = size, progress
        self._rest = b""
        self._stage, self._round = "", ""
        self._pass, self._longest, self._part = 0, 0, 0.0

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-65536:].split(b"\n")
        for line in lines:
            self._line(_plain(line))

    def _line(self, line: str) -> None:
        if found := _PASS.search(line):
            self._pass, self._longest = min(int(found[1]), 50), 0
            self._round = f"pass {found[1]}, "
        elif found := _STAGE.search(line):
            self._stage = found[2][:1].lower() + found[2][1:60]
            self._report(self._round + self._stage, 2 / 3 if found[1] in "23" else 0.0)
        elif found := _LEFT.search(line):
            left = f"{found[2]} of {several(self._size, 'byte')} left"
            length = max(1, int(found[1]))
            self._longest = max(self._longest, length)
            before, whole = 1 / length - 1 / self._longest, 2 - 1 / self._longest
            self._report(f"{self._round}{self._stage}: {left}", 2 / 3 * before / whole)

    def _report(self, text: str, of_pass: float) -> None:
        """``of_pass``: the part of this pass that is done."""
        if self._pass:
            part = 1 - 0.5 ** (self._pass - 1) * (1 - of_pass / 2)
            self._part = max(self._part, part)
        self._progress(visible(text), self._part)


def _plain(line: bytes) -> str:
    return _ESCAPES.sub("", line.decode(errors="replace"))


def _reason(outcome: ProcessResult) -> str:
    """afl-tmin's own reason."""
    lines = [line.strip() for line in _plain(outcome.output).splitlines() if line.strip()]
    for line in reversed(lines):
        if found := _REASON.search(line):
            return visible(found[1].strip())[:300]
    last = visible(lines[-1])[:300] if lines else "nothing was printed"
    return f"exited with status {outcome.status}: {last}"


def judged_by_oracle(campaign: Campaign, run_dir: RunDir, file: Path) -> bool:
    """Whether the program oracle found ``file``.

    Raises :class:`SupervisorError` if the campaign no longer has an oracle.
    """
    where = instance_of(run_dir, file)
    if where is None or where.name != ORACLE:
        return False
    if not campaign.table("oracle"):
        raise SupervisorError(f"{file.name}: the campaign no longer has the [oracle] that found it")
    return True


RUNS = 100_000
"""Maximum number of runs; more than the time limit allows."""


async def minimise_by_oracle(judge: OracleJudge, data: bytes, search: Search) -> tuple[bytes, str]:
    """Return a smaller input with the signature of the first finding, and a note.

    Raises :class:`SupervisorError` if the input shows no bug or a command cannot be run; OSError
    if the machine lacks something, for example memory.
    """
    search.progress("reproducing the finding", -1.0)
    findings = await judge.findings(data)
    if not findings:
        raise SupervisorError("cannot minimise: the oracle finds nothing wrong with the input")
    wanted = findings[0][0].signature
    deadline = time.monotonic() + search.longest_s
    loop = asyncio.get_running_loop()
    left, given_up, stopped = len(data), False, ""

    def keeps(shorter: bytes) -> bool:
        nonlocal left, stopped
        if time.monotonic() >= deadline:
            stopped = f"stopped after {span(search.longest_s)}"
        elif search.stop():
            stopped = "stopped"
        if given_up or stopped:
            return False
        found = asyncio.run_coroutine_threadsafe(judge.findings(shorter), loop).result()
        same = any(finding.signature == wanted for finding, _ in found)
        left = len(shorter) if same else left
        words = f"{left} of {several(len(data), 'byte')} left"
        loop.call_soon_threadsafe(search.progress, words, -1.0)
        return same

    def smallest() -> bytes:
        before, after = b"", data
        while after != before:  # a later pass may remove what an earlier one could not
            before, after = after, shrink(after, keeps, RUNS)
        # What is left is short: parts that only go together, such as two quotes, begin anywhere.
        reducer = Reducer(Attempt(True, after), lambda shorter: Attempt(keeps(shorter), shorter))
        if not stopped:
            reducer.run()
        return reducer.best.data

    try:
        found = await asyncio.to_thread(smallest)
    finally:
        given_up = True
    return found, f"; {stopped}: more may be possible" if stopped else ""
