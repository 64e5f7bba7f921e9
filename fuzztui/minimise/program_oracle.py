"""Minimise a finding of the program oracle, because afl-tmin does not support oracles."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from fuzztui.base.text import several
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.engines.inputs.reduce import shrink
from fuzztui.oracle.judge import OracleJudge

RUNS = 100_000
"""Maximum number of runs; more than the time limit allows."""


async def minimise_by_oracle(
    judge: OracleJudge,
    data: bytes,
    progress: Callable[[str, float], None],
    longest_s: float,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[bytes, str]:
    """Return a smaller input with the signature of the first finding, and a note.

    Stops after ``longest_s`` seconds, or once ``stop`` returns True, with the smallest input found.
    Raises :class:`SupervisorError` if the input shows no bug or a command cannot be run; OSError
    if the machine lacks something, for example memory.
    """
    progress("reproducing the finding", -1.0)
    findings = await judge.findings(data)
    if not findings:
        raise SupervisorError("cannot minimise: the oracle finds nothing wrong with the input")
    wanted = findings[0][0].signature
    deadline = time.monotonic() + longest_s
    loop = asyncio.get_running_loop()
    left, given_up, stopped = len(data), False, ""

    def keeps(shorter: bytes) -> bool:
        nonlocal left, stopped
        if time.monotonic() >= deadline:
            stopped = f"stopped after {round(longest_s / 60)} min"
        elif stop():
            stopped = "stopped"
        if given_up or stopped:
            return False
        found = asyncio.run_coroutine_threadsafe(judge.findings(shorter), loop).result()
        same = any(finding.signature == wanted for finding, _ in found)
        left = len(shorter) if same else left
        loop.call_soon_threadsafe(progress, f"{left} of {several(len(data), 'byte')} left", -1.0)
        return same

    def passes() -> bytes:
        before, after = b"", data
        while after != before:  # a later pass may remove what an earlier one could not
            before, after = after, shrink(after, keeps, RUNS)
        return after

    try:
        found = await asyncio.to_thread(passes)
    finally:
        given_up = True
    return found, f"; {stopped}: more may be possible" if stopped else ""
