"""Run one afl-showmap over a directory of inputs: one fork server, not one process per input.

Without ``-q`` and ``-Z`` afl-showmap prints how each input ended, with the signal, and always
writes the trace, in a format that did not change between versions (measured: 4.04c, 4.22a). With
``-Z``, which afl-cmin uses, a second pass would have to distinguish crashes from hangs, and the
format differs between versions.
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

from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.fleet import split_options
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark, ProcessResult, execute
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import private_directory

START_S = 30.0
"""Seconds that the fork server may take to start."""

STALL_S = 10.0
"""Seconds that an input may take in addition to its timeouts, on a busy machine."""

MAX_TASKS = 1000
"""New processes and threads on the machine above which the target counts as a fork bomb."""

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


MAX_INPUT = 1 << 20
"""Maximum size of an input in bytes, as in AFL."""


def read_input(path: Path) -> bytes | None:
    """Return the content of a file; None if AFL would not accept the file as an input."""
    try:
        data = read_regular(path, MAX_INPUT + 1)
    except (OSError, ValueError):
        return None
    return data if 0 < len(data) <= MAX_INPUT else None


class Unrunnable(SupervisorError):
    """A program cannot be run on any input; the message is the reason."""


@dataclass(frozen=True, slots=True)
class InputResult:
    """The result of a program on one input."""

    outcome: str
    """"ok", "crash" or "hang"; "unfit": not a file, empty, larger than 1 MiB, or removed."""
    trace: frozenset[int] = frozenset()
    """``edge * 8 + bucket`` of the covered edges; the bucket of the hit count is 0 to 7.

    Of crashes and hangs, the edges until then. Empty if the input ended the fork server.
    """
    sig: int = 0
    """The signal of a crash; 0: unknown."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of one afl-showmap. ``verdicts``: of the first inputs, in order."""

    verdicts: list[InputResult]
    trouble: str
    """Why the remaining inputs have no result; "" if there are none."""
    begun: bool
    """Whether any input was run; if not, the program itself cannot be run."""
    endless: bool
    """Whether fuzztui killed afl-showmap, because of a stall or a fork bomb."""


class Showmap:
    """Runs afl-showmap on one program, with a campaign's limits and environment.

    ``label`` marks its processes: objects used at the same time need different labels. Raises
    :class:`SupervisorError` for a target that afl-showmap cannot run.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, command: Sequence[str], label: str
    ) -> None:
        target = {**campaign.target, "command": list(command)}
        self.subject = TargetProgram.of(replace(campaign, target=target))
        nyx = {"-X", "-Y"} & split_options(campaign.engine.get("extra_args") or []).flags
        if self.subject.blind or nyx:
            option = "-n" if self.subject.blind else min(nyx)
            raise SupervisorError(
                f"{campaign.file}: engine.extra_args: with {option} coverage is unknown, so "
                "corpora cannot be compared; leave out the option"
            )
        tool = self.subject.tool("afl-showmap")
        if tool is None:
            raise SupervisorError(
                "afl-showmap: not found; install afl++, or set engine.afl_path to its directory"
            )
        self._tool = tool
        self._run = run_dir.path
        self.mark = ProcessMark(run_dir.path, f"batch-{label}")
        self._known: dict[bytes, int] = {}

    async def run(
        self, files: Sequence[Path], timeout: float, progress: Callable[[int], None]
    ) -> Pass:
        """Run inputs in order, each with a timeout in seconds.

        ``progress`` is called with the number of inputs that are done. Raises
        :class:`SupervisorError`.
        """
        if why := self.subject.missing():
            raise Unrunnable(why)
        try:
            with private_directory(self._run) as directory:
                return await self._run_in(directory, files, timeout, progress)
        except OSError as e:
            raise SupervisorError(f"{e.filename or self._tool}: {e.strerror or e}") from None

    async def _run_in(
        self,
        directory: Path,
        files: Sequence[Path],
        timeout: float,
        progress: Callable[[int], None],
    ) -> Pass:
        fit = await asyncio.to_thread(_stage, files, directory / "in")
        if not fit:
            return Pass([InputResult("unfit")] * len(files), "", True, False)
        answers = _Answers(timeout, progress)
        outcome = await self._execute(directory, timeout, answers)
        ends = answers.ends[: len(fit)]
        killed = outcome.status is None or outcome.status < 0
        if killed and len(ends) == answers.begun:
            # The last input's result may be wrong, and its trace incomplete.
            ends = ends[:-1]
        traces = await asyncio.to_thread(self._traces, directory / "out", len(ends))
        done = {
            at: InputResult(end, trace, sig)
            for at, (end, sig), trace in zip(fit, ends, traces, strict=False)
        }
        reached = len(files) if len(ends) == len(fit) else fit[len(ends)]
        verdicts = [done.get(at) or InputResult("unfit") for at in range(reached)]
        trouble = "" if len(ends) == len(fit) else answers.stopped or _reason(outcome)
        return Pass(verdicts, trouble, answers.begun > 0, bool(answers.stopped))

    async def _execute(self, directory: Path, timeout: float, answers: _Answers) -> ProcessResult:
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
        return await execute(
            [*argv, *subject.modes, "--", *subject.command],
            self.mark,
            cwd=subject.cwd or directory / "cwd",
            limit=START_S + number * (timeout + 1.0) + 60.0,
            env=env,
            stdout=True,
            terminal=True,  # else afl-showmap buffers its output in blocks of 4 KiB
            on_output=answers.take,
            meanwhile=answers.watch,
        )

    def _traces(self, directory: Path, number: int) -> list[frozenset[int]]:
        return [self._trace(directory / f"{at:06}") for at in range(number)]

    def _trace(self, file: Path) -> frozenset[int]:
        """Read lines ``EDGE:BUCKET``; parsed lines are cached, as files mostly repeat them."""
        known = self._known
        try:
            lines = read_regular(file, _MAX_TRACE).split()
            for line in lines:
                if line not in known:
                    edge, _, bucket = line.partition(b":")
                    known[line] = int(edge) * 8 + (int(bucket) - 1) % 8
        except (OSError, ValueError):  # the target may have changed the file
            return frozenset()
        return frozenset(map(known.__getitem__, lines))


def _tasks() -> int:
    """Number of processes and threads on this machine; 0: unknown."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


@dataclass(slots=True)
class _Answers:
    """Reads what afl-showmap prints, and kills it if it stalls or the target is a fork bomb."""

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
        """Kill afl-showmap if no input ends, or if the number of processes explodes."""
        if self.stopped:
            return
        patience = 3 * self.timeout + STALL_S + (0 if self.begun else START_S)
        if time.monotonic() - self._at > patience:
            self.stopped = f"nothing happened for {patience:.0f} s"
        elif _tasks() > self._tasks + MAX_TASKS:
            self.stopped = f"more than {MAX_TASKS:,} new processes"
        if self.stopped:
            # All forks of the target are in the fork server's process group. Killed one after
            # the other, they would multiply.
            servers = _children(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            for server in servers:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(server, signal.SIGKILL)


def _stage(files: Sequence[Path], directory: Path) -> list[int]:
    """Copy inputs to numbered files; return the indexes of those that are fit.

    afl-showmap reads the files in this order. Copies, because names are untrusted, and files may be
    removed or replaced at any moment. Raises OSError.
    """
    fit: list[int] = []
    directory.mkdir()
    for at, file in enumerate(files):
        if (data := read_input(file)) is not None:
            (directory / f"{len(fit):06}").write_bytes(data)
            fit.append(at)
    return fit


def _reason(outcome: ProcessResult) -> str:
    """Return afl-showmap's error message, or its last line."""
    text = _ESCAPES.sub("", outcome.output.decode(errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if found := _REASON.search(line):
            return visible(found[1].strip())[:300]
    if outcome.signal:
        return f"killed by signal {outcome.signal}"
    return visible(lines[-1])[:300] if lines else f"exit status {outcome.status}"


def _children(pid: int) -> list[int]:
    try:
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []
