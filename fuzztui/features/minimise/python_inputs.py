"""Minimise an input of a Python target with an in-process engine, which runs the target."""

from __future__ import annotations

import base64
import contextlib
import math
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.engines.execute.forks import how_it_ended
from fuzztui.features.minimise.rewrite import Search, rewrite
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.kernel.base.text import brief, several, span, visible
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.spec import python_of, saves_examples, spec_near
from fuzztui.run.process.execute import ProcessMark, ProcessResult, execute
from fuzztui.run.triage.afl import MAX_INPUT

LONGEST_S: Final = 600.0
"""Seconds after which the engine stops."""

TRIES: Final = 100_000
"""Runs after which the engine stops; unlike the time, independent of the machine."""

_GRACE_S: Final = 60.0
_REASON: Final = b"fuzztui: "


async def minimise_by_engine(run_dir: RunDir, file: Path, output: Path, search: Search) -> str:
    """Write a smaller input with the signature of ``file`` to ``output``. Returns a summary.

    The smaller input of a suite's finding is saved as a failing example of Hypothesis, if the
    campaign has ``target.examples``.
    Raises :class:`SupervisorError` with the reason if minimising fails.
    """

    async def shorten(data: bytes) -> tuple[bytes, str]:
        search.progress("loading the target, reproducing the finding", -1.0)
        reader = _Reader(data, search)
        spec = spec_near(run_dir, file)
        if spec is None:
            raise SupervisorError(f"{run_dir.path}: no instance was started in this run")
        with temporary_directory() as place:
            given = Path(place) / "input"
            given.write_bytes(data)
            outcome = await _ask(run_dir, spec, given, reader.take, search)
        return reader.result(outcome, stopped=search.stop())

    summary = await rewrite(file, output, shorten)
    spec = spec_near(run_dir, file)
    if spec is None or not saves_examples(spec) or _is_same(file, output):
        return summary
    search.progress("saving the smaller example for Hypothesis", -1.0)
    if why := await _save_example(run_dir, spec, output, search.mark):
        return f"{summary}; not saved for Hypothesis: {why}"
    return f"{summary}; saved for Hypothesis"


def _is_same(file: Path, output: Path) -> bool:
    with contextlib.suppress(OSError):
        return file.read_bytes() == output.read_bytes()
    return False


async def _save_example(run_dir: RunDir, spec: Path, file: Path, mark: ProcessMark | None) -> str:
    """Save an input as a failing example. Returns why that is impossible; empty: it is saved."""
    printed: list[bytes] = []
    request = ["--repro", str(file.absolute()), "--save-example"]
    with temporary_directory() as place:
        outcome = await _run_engine(
            run_dir,
            spec,
            request,
            Path(place),
            limit_s=LOAD_LIMIT_S + _GRACE_S,
            on_output=printed.append,
            mark=mark,
        )
    reason = f"the engine {_how(outcome)}"
    for line in b"".join(printed)[-2 * MAX_INPUT :].splitlines():
        if line.startswith(_REASON):
            reason = line.removeprefix(_REASON).decode(errors="replace")
        with contextlib.suppress(ValueError, RecursionError):
            match loads(line):
                case {"saved": str(why)}:  # the last one: the target may print, too
                    reason = why
    return brief(reason)


async def _run_engine(
    run_dir: RunDir,
    spec: Path,
    request: Sequence[str],
    place: Path,
    *,
    limit_s: float,
    on_output: Callable[[bytes], None],
    mark: ProcessMark | None,
    meanwhile: Callable[[int], None] | None = None,
) -> ProcessResult:
    """Run the engine with a request; ``place``: a directory of its own."""
    python, env = python_of(spec)
    cwd = place / "cwd"
    cwd.mkdir()
    return await execute(
        ["nice", "-n", "10", python, "-P", "-m", "fuzztui.engines", str(spec.absolute()), *request],
        mark or ProcessMark(place, "minimise"),
        cwd=cwd,
        limit=limit_s,
        # As an engine is started (engines/README.md).
        env={"PYTHONHASHSEED": "0", **env, "PYTHONPATH": str(run_dir.expose_package())},
        stdout=True,
        on_output=on_output,
        meanwhile=meanwhile,
    )


async def _ask(
    run_dir: RunDir,
    spec: Path,
    given: Path,
    on_output: Callable[[bytes], None],
    search: Search,
) -> ProcessResult:
    """Run the engine on the input in ``given``, which has a separate directory."""
    stopped = False

    def meanwhile(pid: int) -> None:
        nonlocal stopped
        if not stopped and search.stop():
            stopped = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    return await _run_engine(
        run_dir,
        spec,
        ["--minimise", str(given), "--tries", str(TRIES), "--seconds", str(search.longest_s)],
        given.parent,
        limit_s=LOAD_LIMIT_S + search.longest_s + _GRACE_S,
        on_output=on_output,
        mark=search.mark,
        meanwhile=meanwhile,
    )


class _Reader:
    """Reads and checks the output of the engine, which is untrusted: it runs the target's code."""

    def __init__(self, data: bytes, search: Search) -> None:
        self._data, self._progress, self._longest_s = data, search.progress, search.longest_s
        self._began_s = 0.0
        self._best = data
        self._rest = b""
        self._reason = ""
        self._tries = 0
        self._end: str | None = None

    def take(self, printed: bytes) -> None:
        *lines, self._rest = (self._rest + printed).split(b"\n")
        self._rest = self._rest[-2 * MAX_INPUT :]
        for line in lines:
            if line.startswith(_REASON):
                self._reason = visible(line.removeprefix(_REASON).decode(errors="replace"))[:500]
            with contextlib.suppress(ValueError, RecursionError):
                self._note(loads(line))

    def _note(self, message: Any) -> None:
        match message:
            # The size may exceed that of the file: missing choices are drawn.
            case {"size": int(size), "tries": int(tries)}:
                if isinstance(best := message.get("best"), str):
                    smaller = base64.b64decode(best, validate=True)
                    if len(smaller) <= MAX_INPUT:
                        self._best = smaller
                if isinstance(end := message.get("end"), str):
                    self._end = visible(end)[:200]
                self._tries = tries
                sizes = f"{len(self._data)} -> {several(size, 'byte')}"
                part = message.get("part")
                self._began_s = self._began_s or time.monotonic()
                left = max(0.0, self._longest_s - (time.monotonic() - self._began_s))
                limit = f", at most {span(left)} left" if left < math.inf else ""
                self._progress(
                    f"{several(tries, 'try', 'tries')}, {sizes}{limit}",
                    part if isinstance(part, float) and 0 <= part <= 1 else -1.0,
                )

    def result(self, outcome: ProcessResult, *, stopped: bool) -> tuple[bytes, str]:
        """Return the smallest input and a note for the summary. Raises :class:`SupervisorError`.

        ``stopped``: whether the user stopped the engine.
        """
        end = self._end
        if end is None:
            end = self._reason or f"the engine {_how(outcome)}"
            if self._best == self._data:
                if stopped and outcome.signal == signal.SIGTERM:
                    end = "stopped before the finding was reproduced"
                raise SupervisorError(end)
        note = f" ({several(self._tries, 'try', 'tries')})"
        return self._best, f"{note}; {end}: more may be possible" if end else note


def _how(outcome: ProcessResult) -> str:
    if outcome.stopped:
        return f"was stopped by its target ({outcome.stopped})"
    return "took too long" if outcome.status is None else how_it_ended(outcome.status)
