"""Many inputs on one program: how each ends, and what it covers.

Whatever the program does to afl-showmap costs the input that it did it on, and no other:
the one that was being run is run alone, and if it does it again that is its verdict.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir
from fuzztui.fuzzfirst.scratch import read_input, sweep_scratch
from fuzztui.fuzzfirst.showmap import (
    InputResult,
    Pass,
    Showmap,
    Unrunnable,
)
from fuzztui.triage.sandbox import open_sandbox

__all__ = ["CHUNK", "AflBatch", "BatchRunner", "InputResult", "Progress", "Unrunnable", "silent"]

Progress = Callable[[float], None]
"""Gets the share that is done, 0 to 1."""

CHUNK = 500
"""Inputs a fork server. Traces of as many are held at once by those who take them in turns."""

ALIKE = 16
"""So many hangs that are confirmed one after the other, and the others of a chunk are believed."""

MAX_STALLS = 5
"""Inputs that stop the fork server itself: each takes long, and the program is not to be fuzzed."""


def silent(share: float) -> None:
    """No progress is told."""


class BatchRunner(Protocol):
    """Whatever runs inputs on one program."""

    async def run(self, inputs: Sequence[Path], progress: Progress = silent) -> list[InputResult]:
        """A verdict for each, in order.

        Raises :class:`Unrunnable` where the program cannot be run at all, another
        :class:`SupervisorError` where something else is in the way.
        """


class AflBatch:
    """Runs a program that is instrumented for AFL++, with the campaign's limits.

    ``label`` tells programs apart that are run at the same time ("m7"). One object runs one
    batch at a time. A hang is one that had no end within twice AFL++'s limit for hangs
    either: machines are busy. Raises :class:`SupervisorError` for what afl-showmap cannot run.
    """

    def __init__(
        self, campaign: Campaign, home: RunDir, command: Sequence[str], label: str
    ) -> None:
        self._showmap = Showmap(campaign, home, command, label)
        self._subject = self._showmap.subject
        self._crash_status = _crash_status(self._subject.env)
        self._home = home
        self._turn = asyncio.Lock()
        self._swept = False

    async def run(self, inputs: Sequence[Path], progress: Progress = silent) -> list[InputResult]:
        """See :class:`BatchRunner`. Cancelling ends it at once."""
        verdicts: list[InputResult] = []

        def tell(of_chunk: int) -> None:
            progress(min(1.0, (len(verdicts) + of_chunk) / len(inputs)))

        async with self._turn:
            if not self._swept:  # what an earlier supervisor was killed at
                await asyncio.to_thread(self._showmap.mark.kill_leftovers)
                await asyncio.to_thread(sweep_scratch, self._home.path)
                self._swept = True
            for at in range(0, len(inputs), CHUNK):
                verdicts += await self._chunk(inputs[at : at + CHUNK], tell)
                tell(0)
        return verdicts

    async def _chunk(self, files: Sequence[Path], tell: Callable[[int], None]) -> list[InputResult]:
        timeout, longer = self._subject.timeout, self._subject.hang_limit
        found, spoilers = await self._all(files, timeout, tell)
        hangs = [at for at, v in enumerate(found) if v.outcome == "hang" and at not in spoilers]
        while hangs:
            some, hangs = hangs[:ALIKE], hangs[ALIKE:]
            again, _ = await self._all([files[at] for at in some], longer, lambda _: None)
            for at, verdict in zip(some, again, strict=True):
                found[at] = verdict
            if all(verdict.outcome == "hang" for verdict in again):
                break
        if self._crash_status is not None:
            for at, verdict in enumerate(found):
                if verdict.outcome == "ok" and await self._says_crash(files[at]):
                    found[at] = InputResult("crash", verdict.trace)
        return found

    async def _all(
        self, files: Sequence[Path], timeout: float, tell: Callable[[int], None]
    ) -> tuple[list[InputResult], set[int]]:
        """A verdict for each, and which ones ended the fork server."""
        found: list[InputResult] = []
        spoilers: set[int] = set()
        stalls = 0
        alone = False
        while len(found) < len(files):
            before = len(found)
            part = files[before : before + 1] if alone else files[before:]
            run = await self._showmap.run(part, timeout, lambda n: tell(before + n))  # noqa: B023
            found += run.verdicts
            if alone and run.trouble:
                stalls += run.endless
                if not run.begun or stalls > MAX_STALLS:
                    raise Unrunnable(await asyncio.to_thread(self._cannot, run))
                spoilers.add(before)
                found.append(InputResult("hang" if run.endless else "crash"))
                alone = False
            else:
                alone = bool(run.trouble)
        return found, spoilers

    def _cannot(self, run: Pass) -> str:
        program = self._subject.command[0]
        if not run.begun and self._subject.uninstrumented:
            return (
                f"{program} is not instrumented: was it built by $CC or $CXX, which target.build "
                f"has for AFL++'s compilers? (afl-showmap: {run.trouble})"
            )
        return f"{program}: afl-showmap cannot run it: {run.trouble}"

    async def _says_crash(self, file: Path) -> bool:
        """Whether it ends with the status that AFL_CRASH_EXITCODE names.

        afl-showmap looks at that for a single input only (4.04c and 4.22a).
        """
        data = await asyncio.to_thread(read_input, file)
        if data is None:
            return False
        with open_sandbox(self._subject, data, self._showmap.mark) as place:
            outcome = await place.run(self._subject.crash_limit)
        return outcome.status == self._crash_status


def _crash_status(env: Mapping[str, str]) -> int | None:
    """AFL_CRASH_EXITCODE of the campaign, or of our own environment."""
    try:
        return int({**os.environ, **env}["AFL_CRASH_EXITCODE"]) % 256
    except (KeyError, ValueError):
        return None
