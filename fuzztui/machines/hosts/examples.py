"""Findings of suites on hosts as failing examples of Hypothesis, in the project of the hub."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.examples import is_in_tests
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.wire.events import Event, ExampleSaved, Message
from fuzztui.kernel.wire.finding_kinds import CRASH
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.ask import NoAnswer, ask
from fuzztui.run.process.service import Service, ServiceContext

LIMIT_S: Final = 60.0
"""Seconds for loading the tests and running one finding."""

TRIES: Final = 3
"""Most findings of a signature that are run until one is saved, and again at the end."""

LAST_S: Final = 60.0
"""Seconds at the end of a campaign for the findings that are left."""


class HostExamples(Service):
    """Runs a finding of each signature here, and saves it for Hypothesis.

    Hosts have no project, only copies of its files. A finding that cannot be saved (a busy machine,
    a target that does not always fail) leaves its signature to the next finding of it, and is tried
    once more at the end. ``record``: called with an event about each finding: a message if it
    cannot be saved.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, state: State, record: Callable[[Event], object]
    ) -> None:
        self._campaign, self._run_dir, self._state = campaign, run_dir, state
        self._record = record
        self._done: set[tuple[str, str]] = set()
        """By property and signature: what is saved. Findings of an earlier hub are run again: that
        hub may have ended before it had saved them."""
        self._failed: dict[tuple[str, str], set[str]] = {}
        """By property and signature: the findings that could not be saved."""
        self._warned: set[str] = set()

    async def run(self, until: float = inf) -> None:
        """Save new findings one by one, until the monotonic time ``until``."""
        for finding, file in self._new():
            if time.monotonic() >= until:
                return
            why = await asyncio.to_thread(self._save, file)
            key = (finding.property, finding.signature)
            if not why:
                self._done.add(key)
                self._record(ExampleSaved(finding.instance, finding.file))
                continue
            self._failed.setdefault(key, set()).add(finding.key)
            if why not in self._warned:
                self._warned.add(why)
                text = f"the example is not saved for Hypothesis: {why}"
                self._record(Message("warning", text))

    async def ended(self, end: str, reason: str) -> None:
        """Save what is left at the end of the campaign."""
        until = time.monotonic() + LAST_S
        self._failed.clear()
        while (left := self._new()) and time.monotonic() < until:
            await self.run(until)
        if left:
            text = f"{several(len(left), 'example')} not saved for Hypothesis: no time is left"
            self._record(Message("warning", text))
        if failed := len(self._failed.keys() - self._done):
            text = f"{several(failed, 'signature')} without an example for Hypothesis, as reported"
            self._record(Message("warning", text))

    def _new(self) -> list[tuple[Finding, Path]]:
        found: dict[tuple[str, str], tuple[Finding, Path]] = {}
        for finding in self._state.findings.values():
            key = (finding.property, finding.signature)
            failed = self._failed.get(key, ())
            known = key in self._done or key in found or is_in_tests(finding)
            known = known or finding.key in failed or len(failed) >= TRIES
            if known or finding.category != CRASH.category or not all(key):
                continue
            file = self._run_dir.input(finding.instance, finding.file)
            if file.is_file():  # else it comes with one of the next messages
                found[key] = (finding, file)
        return list(found.values())

    def _save(self, file: Path) -> str:
        """Returns why the finding is not saved; an empty string if it is. Blocking."""
        request = ["--repro", str(file), "--save-example"]
        main = self._run_dir.instance("main")  # inputs are decoded with the constants of this run
        why: object = "no answer"
        try:
            with closing(ask(self._campaign, request, main, limit_s=LIMIT_S)) as answers:
                for answer in answers:
                    why = answer.get("saved", why)  # the last one: the target may print, too
        except (NoAnswer, OSError) as e:
            why = e
        return brief(str(why))


def services(context: ServiceContext) -> list[HostExamples]:
    """The examples, if findings of a suite on hosts are saved for Hypothesis."""
    campaign = context.campaign
    wanted = context.is_hub and campaign.target.get("examples") and campaign.target.get("suite")
    of = (context.run_dir, context.state, context.record)
    return [HostExamples(campaign, *of)] if wanted else []
