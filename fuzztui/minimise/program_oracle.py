"""Making an input smaller of which the oracle says the same: afl-tmin knows nothing of oracles."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from fuzztui.base.text import several
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.engines.loop.trim import shrink
from fuzztui.oracle.judge import OracleJudge

__all__ = ["smaller"]

RUNS = 100_000
"""More than there is time for."""


async def smaller(
    judge: OracleJudge,
    data: bytes,
    progress: Callable[[str, float], None],
    longest_s: float,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[bytes, str]:
    """A smaller input with the first of the same causes, and what is to be said about it.

    The smallest so far after ``longest_s`` seconds, or once ``stop`` returns True.
    Raises :class:`SupervisorError` where there is nothing to keep, or nothing can be run; OSError
    where the machine lacks something.
    """
    progress("running it again", -1.0)
    verdicts = await judge.verdicts(data)
    if not verdicts:
        raise SupervisorError("there is nothing to keep: the oracle finds nothing wrong with it")
    wanted = verdicts[0][0].signature
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
        found = asyncio.run_coroutine_threadsafe(judge.verdicts(shorter), loop).result()
        same = any(verdict.signature == wanted for verdict, _ in found)
        left = len(shorter) if same else left
        loop.call_soon_threadsafe(progress, f"{left} of {several(len(data), 'byte')} left", -1.0)
        return same

    def passes() -> bytes:
        before, after = b"", data
        while after != before:  # what could not go before may be able to now
            before, after = after, shrink(after, keeps, RUNS)
        return after

    try:
        found = await asyncio.to_thread(passes)
    finally:
        given_up = True
    return found, f"; {stopped}: it could be made smaller still" if stopped else ""
