"""The harvest of fragments as the supervisor sees it: kept running, and what it says."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from fuzztui.campaign import Campaign
from fuzztui.engines.text.syntax import idle
from fuzztui.supervise.afl.execute import Mark, Outcome, execute
from fuzztui.supervise.rundir import RunDir
from fuzztui.supervise.text.harvest import CANNOT
from fuzztui.wire.events import Event, Message
from fuzztui.wire.text import visible

__all__ = ["Harvester"]

FIRST_DELAY_S, LONGEST_DELAY_S, HEALTHY_S = 1.0, 300.0, 60.0
MOST_PROBLEMS = 20
_LIMIT_S = 7 * 86400.0
_LONGEST_LINE = 1 << 16
_TOLD = 500


class Harvester:
    """The process of :mod:`fuzztui.supervise.text.harvest`. :meth:`run` it in a task."""

    def __init__(self, campaign: Campaign, home: RunDir, record: Callable[[Event], object]) -> None:
        self._home = home
        self._record = record
        self._text = campaign.text
        self._words = [campaign.text["language"], *campaign.text["templates"]]
        self._rest = b""
        self._problems: set[str] = set()
        self.figures: Mapping[str, Any] = {}
        """Of the pool as it was written last: entries, kinds, fragments, bytes."""

    @staticmethod
    def wanted(campaign: Campaign) -> bool:
        """Whether there is a grammar, and an engine that cannot parse what it finds itself."""
        return campaign.kind == "afl" and bool(campaign.text and campaign.text["language"])

    async def run(self) -> None:
        """Until cancelled, or until it is known that it cannot be."""
        text = self._text
        if words := idle(text["language"], text["splice"], text["adaptive"], text["templates"]):
            self._record(Message("info", words))
        delay = FIRST_DELAY_S
        while True:
            begun = time.monotonic()
            outcome = await self._once()
            if outcome and outcome.status == CANNOT:
                return
            if time.monotonic() - begun >= HEALTHY_S:
                delay = FIRST_DELAY_S
            # Told when it comes again and again: one hostile entry is left out the next time.
            if outcome and delay >= FIRST_DELAY_S * 4:
                self._tell(f"fragments are not harvested: {_why(outcome)}; again in {delay:g} s")
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY_S)

    async def _once(self) -> Outcome | None:
        """None where it could not be started, which is told."""
        self._rest = b""
        words = [sys.executable, "-P", "-m", "fuzztui.supervise.text.harvest", str(self._home.path)]
        try:
            return await execute(
                words + self._words,
                Mark(self._home.path, "harvest"),
                cwd=self._home.path,
                limit=_LIMIT_S,
                stdout=True,
                told=self._take,
            )
        except OSError as e:
            self._tell(f"fragments cannot be harvested: {e.filename or words[0]}: {e.strerror}")
            return None

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-_LONGEST_LINE:].split(b"\n")
        for line in lines:
            try:
                told = json.loads(line)
            except (ValueError, RecursionError):
                continue
            match told:
                case {"problem": str(words)}:
                    self._tell(words)
                case {"figures": dict(figures)}:
                    self.figures = figures

    def _tell(self, words: str) -> None:
        """Each once: it is started again and again."""
        words = visible(words)[:_TOLD]
        if words not in self._problems and len(self._problems) < MOST_PROBLEMS:
            self._problems.add(words)
            self._record(Message("warning", words))


def _why(outcome: Outcome) -> str:
    lines = outcome.output.decode(errors="replace").strip().splitlines()
    said = next((line for line in reversed(lines) if line and not line.startswith("{")), "")
    if outcome.signal:
        how = f"killed by {signal.Signals(outcome.signal).name}"
    else:
        how = f"exit status {outcome.status}"
    return f"{how} {said}".strip()
