"""Minimise findings while a campaign runs: the handlers of the commands, one file at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from fuzztui.features.minimise import program_inputs, python_inputs
from fuzztui.features.minimise.rewrite import Search, minimised_path
from fuzztui.kernel.wire.commands import CancelMinimise, Minimise
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.process.service import Handler, Progress, Service, ServiceContext
from fuzztui.run.triage.program import find_file

_numbers = itertools.count(1)


MinimiseFile = Callable[[Path, Path, Search], Awaitable[str]]
"""Minimises a file to another one, and returns a summary."""


class Minimiser(Service):
    """Minimises findings, one at a time."""

    def __init__(self, run_dir: RunDir, minimise: MinimiseFile, longest_s: float) -> None:
        self._run_dir, self._minimise, self._longest_s = run_dir, minimise, longest_s
        self._turn = asyncio.Lock()
        self._open: dict[Minimise, bool] = {}
        """Commands that wait or are running, and whether they were cancelled."""

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of ``minimise`` and ``cancel-minimise``."""
        return {Minimise.name: self.minimise, CancelMinimise.name: self.cancel}

    async def minimise(self, command: Minimise, progress: Progress) -> str:
        """Minimise a finding."""
        if command in self._open:
            raise SupervisorError(f"{command.file}: already being minimised")
        self._open[command] = False
        try:
            if self._turn.locked():
                progress("waiting for another finding to be minimised", -1.0)
            # The file is searched after the wait: a resumed afl-fuzz moves its findings.
            async with self._turn:
                return await self._take(command, progress)
        finally:
            del self._open[command]

    async def cancel(self, command: CancelMinimise, _progress: Progress) -> str:
        """Stop minimising a finding."""
        meant = Minimise(command.file, command.instance)
        if meant not in self._open:
            raise SupervisorError(f"{command.file}: not being minimised")
        self._open[meant] = True
        return "the smallest input found is kept"

    async def _take(self, command: Minimise, progress: Progress) -> str:
        if self._open[command]:
            raise SupervisorError("cancelled before minimising started")
        run_dir = self._run_dir
        named = [run_dir.instance(command.instance)] if command.instance else run_dir.out.iterdir()
        mark = ProcessMark(run_dir.path, f"minimise-{next(_numbers)}")
        for directory in sorted(named):
            if file := find_file(directory, command.file):
                output = minimised_path(run_dir, file)
                search = Search(progress, self._longest_s, lambda: self._open[command], mark)
                return await self._minimise(file, output, search)
        raise SupervisorError(f"{command.file}: no such finding in {run_dir.out}")


def services(context: ServiceContext) -> list[Minimiser]:
    """The minimiser, where the instances run."""
    campaign, run_dir = context.campaign, context.run_dir
    if context.is_hub:
        return []
    if campaign.kind == AFL:
        one = partial(program_inputs.minimise, campaign, run_dir)
        return [Minimiser(run_dir, one, program_inputs.LONGEST_S)]
    by_engine = partial(python_inputs.minimise_by_engine, run_dir)
    return [Minimiser(run_dir, by_engine, python_inputs.LONGEST_S)]
