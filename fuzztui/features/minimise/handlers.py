"""Minimise findings while a campaign runs: the handlers of the commands, one file at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from fuzztui.features.minimise.program_inputs import minimise
from fuzztui.features.minimise.python_inputs import minimise_by_engine
from fuzztui.features.minimise.rewrite import minimised_path
from fuzztui.kernel.wire.commands import CancelMinimise, Command, Minimise
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.process.service import Handler, Progress, Service, ServiceContext
from fuzztui.run.triage.program import find_file

_numbers = itertools.count(1)


class MinimiseFile(Protocol):
    """Minimises one file, and returns a summary."""

    def __call__(
        self,
        file: Path,
        output: Path,
        progress: Progress,
        *,
        mark: ProcessMark,
        stop: Callable[[], bool],
    ) -> Awaitable[str]:
        """``mark``: marks the processes. ``stop()``: once true, the smallest input is written."""


class Minimiser(Service):
    """Minimises findings, one at a time."""

    def __init__(self, run_dir: RunDir, minimise: MinimiseFile) -> None:
        self._run_dir, self._minimise = run_dir, minimise
        self._turn = asyncio.Lock()
        self._open: dict[Minimise, bool] = {}
        """Commands that wait or are running, and whether they were cancelled."""

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of ``minimise`` and ``cancel-minimise``."""
        return {Minimise.name: self.minimise, CancelMinimise.name: self.cancel}

    async def minimise(self, command: Command, progress: Progress) -> str:
        """Minimise a finding."""
        if not isinstance(command, Minimise):
            raise SupervisorError(f"{command.name} is not the command minimise")
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

    async def cancel(self, command: Command, _progress: Progress) -> str:
        """Stop minimising a finding."""
        if not isinstance(command, CancelMinimise):
            raise SupervisorError(f"{command.name} is not the command cancel-minimise")
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
                return await self._minimise(
                    file, output, progress, mark=mark, stop=lambda: self._open[command]
                )
        raise SupervisorError(f"{command.file}: no such finding in {run_dir.out}")


def services(context: ServiceContext) -> list[Minimiser]:
    """The minimiser, where the instances run."""
    campaign, run_dir = context.campaign, context.run_dir
    if context.is_hub:
        return []
    by_program = partial(minimise, campaign, run_dir)
    one = by_program if campaign.kind == AFL else partial(minimise_by_engine, run_dir)
    return [Minimiser(run_dir, one)]
