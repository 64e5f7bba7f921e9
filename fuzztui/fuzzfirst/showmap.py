"""One afl-showmap over a directory of inputs: a fork server, not a process an input.

Told to be neither quiet nor afl-cmin's helper, it says of each input how it ended, with the
signal, and writes the trace whatever happened, in a form that has stayed the same over the
versions (measured: 4.04c, 4.22a). ``-Z``, as afl-cmin has it, would need a second pass to
tell crashes from hangs, and changed its form on the way.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fuzztui.base.files import read_regular
from fuzztui.base.text import visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.fleet import split_options
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.scratch import read_input, scratch
from fuzztui.process.execute import ProcessMark, ProcessResult, execute
from fuzztui.triage.program import TargetProgram

__all__ = ["InputResult", "Pass", "Showmap", "Unrunnable"]

START_S = 30.0
"""The fork server may take so long to come up."""

STALL_S = 10.0
"""And so much longer than the timeout may one input take, on a busy machine."""

MAX_TASKS = 1000
"""More processes and threads than before on the machine: the target forks without end."""

_MAX_TRACE = 32 << 20
_MARKS = re.compile(
    rb"-- Program output (?:(begins)|ends) --"
    rb"|\+\+\+ Program (?:killed by signal ([0-9]{1,3})|timed off) \+\+\+"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])|[\x0e\x0f]")
_REASON = re.compile(r"\[-\] +(?:PROGRAM ABORT|SYSTEM ERROR) : (.*)")
_UNWANTED = (
    "AFL_CMIN_ALLOW_ANY",
    "AFL_CMIN_CRASHES_ONLY",
    "AFL_DEBUG",
    "AFL_DEBUG_CHILD",
    "AFL_PRINT_FILENAMES",
    "AFL_QUIET",
)
"""Variables that change what afl-showmap prints or writes."""


class Unrunnable(SupervisorError):
    """A program that cannot be run on inputs at all; says why. Nothing else is wrong."""


@dataclass(frozen=True, slots=True)
class InputResult:
    """How a program took an input."""

    outcome: str
    """"ok", "crash" or "hang"; "unfit": no file, empty, larger than 1 MiB, or gone by now."""
    trace: frozenset[int] = frozenset()
    """``edge * 8 + bucket`` of all that was covered, the bucket of the hit count from 0 to 7.

    Of crashes and hangs too: until then. Empty for what ended the fork server.
    """
    sig: int = 0
    """The signal that a crash died of, 0 if it is not known."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one afl-showmap came to. ``verdicts``: of the first inputs, in order."""

    verdicts: list[InputResult]
    trouble: str
    """Why those are not all, in words; "" if they are."""
    begun: bool
    """Whether any input was run: else it is the program that cannot be."""
    endless: bool
    """It was ended by us, as it stood still or forked without end."""


class Showmap:
    """afl-showmap on one program, with a campaign's limits and environment.

    ``label`` marks its processes: no two may run at the same time under one. Raises
    :class:`SupervisorError` for what afl-showmap cannot run.
    """

    def __init__(
        self, campaign: Campaign, home: RunDir, command: Sequence[str], label: str
    ) -> None:
        target = {**campaign.target, "command": list(command)}
        self.subject = TargetProgram.of(replace(campaign, target=target))
        nyx = {"-X", "-Y"} & split_options(campaign.engine.get("extra_args") or []).flags
        if self.subject.blind or nyx:
            option = "-n" if self.subject.blind else min(nyx)
            raise SupervisorError(
                f"{campaign.file}: engine.extra_args: with {option} nothing tells what an input "
                "covers, and mutants' corpora cannot be transferred: leave it out"
            )
        tool = self.subject.tool("afl-showmap")
        if tool is None:
            raise SupervisorError(
                "afl-showmap is not found: install afl++, or name its directory in engine.afl_path"
            )
        self._tool = tool
        self._run = home.path
        self.mark = ProcessMark(home.path, f"batch-{label}")
        self._known: dict[bytes, int] = {}

    async def run(
        self, files: Sequence[Path], timeout: float, progress: Callable[[int], None]
    ) -> Pass:
        """Run inputs in order; ``timeout`` in seconds for each, ``progress`` gets their number."""
        if why := self.subject.missing():
            raise Unrunnable(why)
        with scratch(self._run) as directory:
            staged = asyncio.to_thread(_stage, files, directory / "in")
            fit = await staged
            if not fit:
                return Pass([InputResult("unfit")] * len(files), "", True, False)
            told = _Told(timeout, progress)
            outcome = await self._execute(directory, timeout, told)
            ends = told.ends[: len(fit)]
            killed = outcome.status is None or outcome.status < 0
            if killed and len(ends) == told.begun:
                # Perhaps before it had said how the last one ended, or had written all of it.
                ends = ends[:-1]
            traces = await asyncio.to_thread(self._traces, directory / "out", len(ends))
        done = {
            at: InputResult(end, trace, sig)
            for at, (end, sig), trace in zip(fit, ends, traces, strict=False)
        }
        reached = len(files) if len(ends) == len(fit) else fit[len(ends)]
        verdicts = [done.get(at) or InputResult("unfit") for at in range(reached)]
        trouble = "" if len(ends) == len(fit) else told.stopped or _reason(outcome)
        return Pass(verdicts, trouble, told.begun > 0, bool(told.stopped))

    async def _execute(self, directory: Path, timeout: float, told: _Told) -> ProcessResult:
        subject = self.subject
        for part in ("out", "cwd"):
            (directory / part).mkdir()
        argv = ["env", *(word for name in _UNWANTED for word in ("-u", name)), self._tool]
        argv += ["-t", str(max(20, round(1000 * timeout)))]
        argv += ["-m", str(max(5, subject.memory >> 20)) if subject.memory else "none"]
        argv += ["-H", str(directory / subject.input_name)]
        argv += ["-i", str(directory / "in"), "-o", str(directory / "out")]
        env = {name: value for name, value in subject.env.items() if name not in _UNWANTED}
        if "AFL_FORKSRV_INIT_TMOUT" not in {**os.environ, **env}:
            env["AFL_FORKSRV_INIT_TMOUT"] = str(round(1000 * START_S))
        number = len(os.listdir(directory / "in"))  # noqa: PTH208 - names only
        try:
            return await execute(
                [*argv, *subject.modes, "--", *subject.command],
                self.mark,
                cwd=subject.cwd or directory / "cwd",
                limit=START_S + number * (timeout + 1.0) + 60.0,
                env=env,
                stdout=True,
                terminal=True,  # else it tells in blocks of 4 KiB
                on_output=told.take,
                meanwhile=told.watch,
            )
        except OSError as e:
            raise SupervisorError(f"{e.filename or self._tool}: {e.strerror or e}") from None

    def _traces(self, directory: Path, number: int) -> list[frozenset[int]]:
        return [self._trace(directory / f"{at:06}") for at in range(number)]

    def _trace(self, file: Path) -> frozenset[int]:
        """Of lines ``EDGE:BUCKET``; they are mostly the same ones in all files."""
        known = self._known
        try:
            lines = read_regular(file, _MAX_TRACE).split()
            for line in lines:
                if line not in known:
                    edge, _, bucket = line.partition(b":")
                    known[line] = int(edge) * 8 + (int(bucket) - 1) % 8
        except (OSError, ValueError):  # the target has had its hands on it
            return frozenset()
        return frozenset(map(known.__getitem__, lines))


def _tasks() -> int:
    """Processes and threads on this machine, 0 where it does not tell."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


@dataclass(slots=True)
class _Told:
    """What afl-showmap says while it runs, and when it has said nothing for too long."""

    timeout: float
    progress: Callable[[int], None]
    begun: int = 0
    ends: list[tuple[str, int]] = field(default_factory=list)
    stopped: str = ""
    _rest: bytes = b""
    _at: float = field(default_factory=time.monotonic)
    _tasks: int = field(default_factory=_tasks)

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-65536:].split(b"\n")
        for line in lines:
            for found in _MARKS.finditer(line):
                self._note(found)

    def _note(self, found: re.Match[bytes]) -> None:
        self._at = time.monotonic()
        if found[1]:
            self.begun += 1
        elif found[2] and self.ends:
            self.ends[-1] = ("crash", int(found[2]))
        elif found[0].startswith(b"+++") and self.ends:
            self.ends[-1] = ("hang", 0)
        else:
            self.ends.append(("ok", 0))
            self.progress(len(self.ends))

    def watch(self, pid: int) -> None:
        """End it where it makes no way. Its target can stop the fork server, and fork."""
        if self.stopped:
            return
        patience = 3 * self.timeout + STALL_S + (0 if self.begun else START_S)
        if time.monotonic() - self._at > patience:
            self.stopped = f"nothing happened for {patience:.0f} s"
        elif _tasks() > self._tasks + MAX_TASKS:
            self.stopped = f"there were {MAX_TASKS:,} processes more than before"
        if self.stopped:
            # The fork server leads a group that all forks of the target are in: they die
            # at once, while one after the other they would multiply.
            servers = _children(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            for server in servers:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(server, signal.SIGKILL)


def _stage(files: Sequence[Path], directory: Path) -> list[int]:
    """Copy inputs under numbers, which are told in that order; returns which ones are fit.

    Copies: the names are strangers', and the files may be gone or others the next moment.
    """
    fit: list[int] = []
    try:
        directory.mkdir()
        for at, file in enumerate(files):
            if (data := read_input(file)) is not None:
                (directory / f"{len(fit):06}").write_bytes(data)
                fit.append(at)
    except OSError as e:
        raise SupervisorError(f"{e.filename or directory}: {e.strerror or e}") from None
    return fit


def _reason(outcome: ProcessResult) -> str:
    """afl-showmap's own words."""
    text = _ESCAPES.sub("", outcome.output.decode(errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if found := _REASON.search(line):
            return visible(found[1].strip())[:300]
    if outcome.signal:
        return f"it died of signal {outcome.signal}"
    return visible(lines[-1])[:300] if lines else f"it ended with status {outcome.status}"


def _children(pid: int) -> list[int]:
    try:
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []
