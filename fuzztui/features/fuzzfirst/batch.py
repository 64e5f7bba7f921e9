"""Run many inputs on one program; return how each execution ended, and what it covered.

If the program breaks afl-showmap, the input that was being run is run again alone. If it breaks
afl-showmap again, it counts as a crash or hang; the other inputs are not affected.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fuzztui.features.fuzzfirst.showmap import InputResult, Pass, Showmap, Unrunnable, read_input
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.triage.sandbox import open_sandbox, remove_sandboxes

Progress = Callable[[float], None]
"""Called with the share of the inputs that is done, 0 to 1."""

CHUNK = 500
"""Inputs per fork server. A caller that reads traces chunk by chunk holds this many in memory."""

ALIKE = 16
"""Hangs that are confirmed together; if all are hangs, the rest of the chunk is not run again."""

MAX_STALLS = 5
"""Inputs that may stop the fork server itself before the program counts as unrunnable."""


def silent(share: float) -> None:
    """Report no progress."""


class BatchRunner(Protocol):
    """Runs inputs on one program."""

    async def run(self, inputs: Sequence[Path]) -> list[InputResult]:
        """Return one result for each input, in order.

        Raises :class:`Unrunnable` if the program cannot be run at all, another
        :class:`SupervisorError` for any other obstacle.
        """


class AflBatch:
    """Runs a program that is instrumented for AFL++, with the campaign's limits.

    ``label`` distinguishes programs that are run at the same time ("m7"). One object runs one
    batch at a time. An input that times out is run again with a longer limit, as the machine may
    be busy: only a second timeout is a hang. Raises :class:`SupervisorError` for a target that
    afl-showmap cannot run.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, command: Sequence[str], label: str
    ) -> None:
        self._showmap = Showmap(campaign, run_dir, command, label)
        self._subject = self._showmap.subject
        self._crash_status = _crash_status(self._subject.env)
        self._run_dir = run_dir
        self._turn = asyncio.Lock()
        self._swept = False

    async def run(self, inputs: Sequence[Path], progress: Progress = silent) -> list[InputResult]:
        """As :class:`BatchRunner`. Cancelling ends the processes at once."""
        verdicts: list[InputResult] = []

        def tell(of_chunk: int) -> None:
            progress(min(1.0, (len(verdicts) + of_chunk) / len(inputs)))

        async with self._turn:
            if not self._swept:  # left by an earlier supervisor that was killed
                await asyncio.to_thread(self._showmap.mark.kill_leftovers)
                await asyncio.to_thread(remove_sandboxes, self._run_dir.path)
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
        """Return a result for each input, and the indexes of those that ended the fork server."""
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
                f"{program}: not instrumented; let target.build call $CC and $CXX, which are "
                f"AFL++'s compilers (afl-showmap: {run.trouble})"
            )
        return f"{program}: afl-showmap cannot run it: {run.trouble}"

    async def _says_crash(self, file: Path) -> bool:
        """Whether the program exits with the status that AFL_CRASH_EXITCODE names.

        afl-showmap checks the status only if it has a single input (4.04c and 4.22a).
        """
        data = await asyncio.to_thread(read_input, file)
        if data is None:
            return False
        with open_sandbox(self._subject, data, self._showmap.mark) as place:
            outcome = await place.run(self._subject.crash_limit)
        return outcome.status == self._crash_status


def _crash_status(env: Mapping[str, str]) -> int | None:
    """AFL_CRASH_EXITCODE of the campaign, or of the supervisor's environment; None: not set."""
    try:
        return int({**os.environ, **env}["AFL_CRASH_EXITCODE"]) % 256
    except (KeyError, ValueError):
        return None
