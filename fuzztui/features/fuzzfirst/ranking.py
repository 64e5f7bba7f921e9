"""Run the ranking process, and pass on its mutants as they arrive."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzztui.features.fuzzfirst.reach import BuildReach
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.wire.events import MutantsShard
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark, execute

_LIMIT_S = 7 * 86400.0
_LONGEST_LINE = 1 << 20
_FIELDS = ("id", "file", "line", "operator", "before", "after")


class Ranking:
    """Runs :mod:`fuzztui.features.fuzzfirst.ranking_process` on the sources in ``tree``.

    :param sources: file names below ``tree``, each with its lines ("": all).
    :param found: called with each mutant, in ranking order.
    """

    def __init__(
        self,
        run_dir: RunDir,
        tree: Path,
        sources: Sequence[tuple[str, str]],
        reach: BuildReach,
        found: Callable[[SourceMutant], None],
    ) -> None:
        self._run_dir = run_dir
        self._reach = reach
        self._tree = tree
        self._sources = sources
        self._found = found
        self._rest = b""
        self._error = ""
        self.ready = asyncio.Event()
        """Set when the process has read the sources, or has ended."""
        self.notes: list[str] = []
        self.figures: Mapping[str, float] = {}
        self.program, self.program_mutants = "", 0
        """The sum of the program's mutants, and their number; set when ``ready`` is."""
        self.shard: MutantsShard | None = None
        """Which part of the mutants is ranked; None: all."""

    async def run(self) -> None:
        """Run to the end. Raises :class:`SupervisorError` if there are no mutants."""
        command = [sys.executable, "-P", "-m", "fuzztui.features.fuzzfirst.ranking_process"]
        reach = self._run_dir.mutants / "reach.json"
        command += [
            str(self._run_dir.campaign),
            str(self._tree),
            json.dumps(self._sources),
            str(reach),
        ]
        try:
            await asyncio.to_thread(replace_text, reach, json.dumps(self._reach.to_json()))
            outcome = await execute(
                command,
                ProcessMark(self._run_dir.path, "ranking"),
                cwd=self._run_dir.path,
                limit=_LIMIT_S,
                stdout=True,
                on_output=self._take,
            )
        finally:
            self.ready.set()
        if self._error:
            raise SupervisorError(self._error)
        if outcome.status != 0:
            last = outcome.output.decode(errors="replace").strip().splitlines()[-1:]
            raise SupervisorError(f"mutants.sources: ranking failed: {' '.join(last)}")

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-_LONGEST_LINE:].split(b"\n")
        for line in lines:
            try:
                answer = loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict):
                self._take_message(answer)

    def _take_message(self, answer: Mapping[str, Any]) -> None:
        match answer:
            case {"ready": list(notes)}:
                self.notes = [str(note) for note in notes]
                self.ready.set()
            case {"shard": [int(number), int(of), int(mutants), str(program)]}:
                self.shard = MutantsShard("", number, of, mutants, program)
            case {"program": [int(mutants), str(program)]}:
                self.program, self.program_mutants = program, mutants
            case {"mutant": dict(fields)}:
                self._found(SourceMutant(*(fields[name] for name in _FIELDS)))
            case {"figures": dict(figures)}:
                self.figures = figures
            case {"error": str(message)}:
                self._error = message
