"""A process of ours beside the supervisor, as that sees it: kept running, and what it says.

It is ``python -P -m MODULE RUN ...``, and prints JSON lines: ``{"problem": words}`` is told in the
log, each once; ``{"figures": {...}}`` replaces :attr:`HelperProcess.figures`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fuzztui.base.bounds import loads
from fuzztui.base.text import visible
from fuzztui.campaign.rundir import RunDir
from fuzztui.process.execute import ProcessMark, ProcessResult, execute
from fuzztui.wire.events import Event, Message

__all__ = ["CANNOT", "HelperProcess"]

CANNOT: Final = 3
"""Exit status of a helper where another try would not help."""

FIRST_DELAY_S, LONGEST_DELAY_S, HEALTHY_S = 1.0, 300.0, 60.0
MAX_PROBLEMS = 20
_LIMIT_S = 7 * 86400.0
_LONGEST_LINE = 1 << 16
_TOLD = 500


class HelperProcess:
    """One such process. :meth:`run` it in a task.

    :param module: what is run, with the run's path and ``words``.
    :param label: marks its process (:class:`ProcessMark`).
    :param undone: what is not done while it does not run, in words.
    """

    def __init__(
        self,
        run_dir: RunDir,
        record: Callable[[Event], object],
        module: str,
        words: Sequence[str],
        *,
        label: str,
        undone: str,
    ) -> None:
        self._run_dir, self._record = run_dir, record
        self._argv = [sys.executable, "-P", "-m", module, str(run_dir.path), *words]
        self._label, self._undone = label, undone
        self._rest = b""
        self._pid = 0
        self._ending = False
        self._problems: set[str] = set()
        self.figures: Mapping[str, Any] = {}
        """What it said last."""

    async def run(self) -> None:
        """Until cancelled, or told to end, or until it is known that it cannot be."""
        delay = FIRST_DELAY_S
        while not self._ending:
            begun = time.monotonic()
            outcome = await self._once()
            if self._ending or (outcome and outcome.status == CANNOT):
                return
            if time.monotonic() - begun >= HEALTHY_S:
                delay = FIRST_DELAY_S
            # Told when it comes again and again: one hostile entry is left out the next time.
            if outcome and delay >= FIRST_DELAY_S * 4:
                self._tell(f"{self._undone}: {_why(outcome)}; again in {delay:g} s")
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY_S)

    def end(self) -> None:
        """Ask it to come to its end; told again, at once."""
        self._ending = True
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)

    async def _once(self) -> ProcessResult | None:
        """None where it could not be started, which is told."""
        self._rest = b""
        try:
            return await execute(
                self._argv,
                ProcessMark(self._run_dir.path, self._label),
                cwd=self._run_dir.path,
                limit=_LIMIT_S,
                stdout=True,
                told=self._take,
                meanwhile=self._runs,
            )
        except OSError as e:
            self._tell(f"{self._undone}: {e.filename or self._argv[0]}: {e.strerror}")
            return None
        finally:
            self._pid = 0

    def _runs(self, pid: int) -> None:
        if self._pid != pid:
            self._pid = pid
            if self._ending:
                self.end()

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-_LONGEST_LINE:].split(b"\n")
        for line in lines:
            try:
                told = loads(line)
            except (ValueError, RecursionError):
                continue
            match told:
                case {"problem": str(words)}:
                    self._tell(words)
                case {"figures": dict(figures)}:
                    self.figures = figures
                    self._news()

    def _news(self) -> None:
        """There are other figures."""

    def _tell(self, words: str) -> None:
        """Each once: it is started again and again."""
        words = visible(words)[:_TOLD]
        if words not in self._problems and len(self._problems) < MAX_PROBLEMS:
            self._problems.add(words)
            self._record(Message("warning", words))


def _why(outcome: ProcessResult) -> str:
    lines = outcome.output.decode(errors="replace").strip().splitlines()
    said = next((line for line in reversed(lines) if line and not line.startswith("{")), "")
    if outcome.signal:
        how = f"killed by {signal.Signals(outcome.signal).name}"
    else:
        how = f"exit status {outcome.status}"
    return f"{how} {said}".strip()
