"""``fuzztui repro`` and ``fuzztui minimise``: one finding again, and a smaller one."""

from __future__ import annotations

import argparse
import asyncio
import codecs
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

from fuzztui.base.files import read_regular
from fuzztui.base.text import visible
from fuzztui.campaign import Campaign, CampaignError, load
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.cli.output import DONE, FAILED, FINDINGS, NOT_RUNNING, USAGE, CliError, say
from fuzztui.cli.runs import find_run, standing
from fuzztui.engines.execute.overseer import Overseer
from fuzztui.inprocess.spec import python_of, spec_near
from fuzztui.minimise.afl_tmin import judged_by_oracle
from fuzztui.minimise.afl_tmin import minimise as minimised
from fuzztui.minimise.python_inputs import minimise_by_engine
from fuzztui.minimise.turns import instance_of, minimised_path
from fuzztui.oracle.judge import OracleJudge
from fuzztui.process.execute import ProcessMark
from fuzztui.supervise.launchers import CANNOT_START
from fuzztui.triage.afl import MAX_INPUT, category_of, examine_file
from fuzztui.triage.program import TargetProgram, find_file, repro_command_line

MAX_SHOWN = 1 << 20
"""Of a target's output: what is more helps nobody at a terminal."""


def repro(options: argparse.Namespace) -> int:
    """Run one input plainly under the target, and show what happens.

    Returns FINDINGS if the target fails, DONE if it does not.
    """
    home = RunDir(find_run(options.run))
    file = _find(home, options.file)
    campaign = _afl_campaign(home)
    slot = _slot_of(home, file)
    if campaign is None:
        code = _repro_engine(home, file)
    else:
        code = _repro_afl(campaign, home, file, "" if slot else category_of(file))
    if slot and code == DONE:
        known = (m.id for m in standing(home.path).state.mutants.values() if m.slot == slot)
        mutant = visible(next(known, "a mutant"))
        say(f"that was the target: {file.parent.name}/{file.name} is of {slot}, which ran {mutant}")
    return code


def minimise(options: argparse.Namespace) -> int:
    """Make a smaller input with the same outcome."""
    home = RunDir(find_run(options.run))
    file = _find(home, options.file)
    campaign = _afl_campaign(home)
    output = (options.output or minimised_path(home, file)).absolute()
    if output.is_dir():
        output /= file.name
    line = _ProgressLine(lines=options.progress)

    def begin(stop: Callable[[], bool]) -> Awaitable[str]:
        if campaign is None:
            return minimise_by_engine(home, file, output, line.show, stop=stop)
        return minimised(campaign, home, file, output, line.show, stop=stop)

    try:
        words = asyncio.run(_until_stopped(begin, at_eof=options.until_eof))
    except SupervisorError as e:
        raise CliError(str(e)) from None
    finally:
        line.end()
    print(visible(words), flush=True)
    if campaign is None and not options.progress:
        _repro_engine(home, output, near=file)  # what was made of it, and how it fails
    return DONE


async def _until_stopped(
    begin: Callable[[Callable[[], bool]], Awaitable[str]], *, at_eof: bool
) -> str:
    """Await what ``begin`` returns; it is called with a function that returns whether to stop.

    Stopping keeps the smallest input so far. SIGINT, SIGTERM and SIGHUP stop, and the end of stdin
    if ``at_eof``. A SIGINT after that ends everything at once; the others do not, because a
    terminal that is closed sends SIGHUP and ends stdin.
    """
    loop, stopped = asyncio.get_running_loop(), False

    def stop() -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            loop.remove_signal_handler(signal.SIGINT)

    def read_stdin() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended meanwhile
            loop.call_soon_threadsafe(stop)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) != signal.SIG_IGN:  # nohup
            loop.add_signal_handler(signum, stop)
    if at_eof:
        threading.Thread(target=read_stdin, daemon=True).start()
    return await begin(lambda: stopped)


def _find(home: RunDir, given: str) -> Path:
    """A file: here, or in the run; also one that AFL++ has put away since."""
    for candidate in (Path(given), home.out / given, home.path / given):
        path = candidate.absolute()
        if path.is_file():
            return path
        # INSTANCE/crashes/NAME, of which AFL++ makes INSTANCE/crashes.DATE/NAME.
        if found := find_file(path.parent.parent, f"{path.parent.name}/{path.name}"):
            return found
    raise CliError(f"{given}: there is no such file, neither here nor in {home.out}", USAGE)


def _afl_campaign(home: RunDir) -> Campaign | None:
    """The campaign of a run, if it is AFL++'s."""
    try:
        campaign = load(home.campaign).campaign
    except CampaignError as e:
        if any(home.out.glob("*/spec.json")):  # one of ours: its engine knows the rest
            return None
        raise CliError(str(e), USAGE) from None
    return campaign if campaign.kind == "afl" else None


def _slot_of(home: RunDir, file: Path) -> str:
    """The mutant's turn whose directory the file is in; "" for none."""
    mutants, file = home.mutants.resolve(), file.resolve()
    parts = file.relative_to(mutants).parts if file.is_relative_to(mutants) else ()
    return parts[1] if len(parts) > 2 and parts[0] in ("slots", "aside") else ""


def _repro_afl(campaign: Campaign, home: RunDir, file: Path, category: str) -> int:
    shown = _Shown()
    try:
        data = read_regular(file, MAX_INPUT)
        if judged_by_oracle(campaign, home, file):
            return _repro_oracle(OracleJudge.of(campaign), file, data)
        subject = TargetProgram.of(campaign, instance_of(home, file))
        verdict = asyncio.run(examine_file(subject, category, data, on_output=shown.take))
    except (SupervisorError, OSError) as e:
        raise CliError(str(e)) from None
    shown.end()
    if verdict.stack:
        print(verdict.stack)
    print(f"run it yourself: {visible(repro_command_line(subject, file))}", flush=True)
    say(f"{verdict.title}{f' ({verdict.place})' if verdict.place else ''}")
    return DONE if verdict.ended else FINDINGS


def _repro_oracle(judge: OracleJudge, file: Path, data: bytes) -> int:
    """The commands of ``[oracle]`` run the input. Raises SupervisorError, OSError."""
    verdicts = asyncio.run(judge.findings(data))
    answers = verdicts[-1][1] if verdicts else asyncio.run(judge.ask(data))
    print(judge.report(answers, file), end="", flush=True)
    for verdict, _ in verdicts:
        say(f"{verdict.category}: {verdict.title}")
    if not verdicts:
        say("the oracle finds nothing wrong with it")
    return FINDINGS if verdicts else DONE


def _repro_engine(home: RunDir, file: Path, near: Path | None = None) -> int:
    """An engine of ours runs the input, and says itself what happened.

    ``near``: whose instance's engine, if the file itself is elsewhere.
    """
    spec = spec_near(home, near or file)
    if spec is None:
        raise CliError(f"{home.path}: no instance has been started here", NOT_RUNNING)
    try:
        python, said = python_of(spec)
    except SupervisorError as e:
        raise CliError(str(e)) from None
    package = home.supervisor / "pkg"
    # As in the campaign: the order of a set may decide whether it fails.
    mark = ProcessMark(home.path, f"repro-{os.getpid()}")
    env = {**os.environ, "PYTHONHASHSEED": "0", **said, "PYTHONPATH": str(package), **mark.env}
    argv = [python, "-P", "-m", "fuzztui.engines", str(spec), "--repro", str(file)]
    # A target that stops its process group must not stop this process. At a terminal it may:
    # the user's shell reports that, and a group of its own could not read from the terminal.
    group = None if sys.stdin.isatty() else 0
    try:
        process = subprocess.Popen(argv, env=env, process_group=group)
    except OSError as e:
        raise CliError(f"{python}: the target's interpreter cannot be run: {e.strerror}") from None
    overseer = Overseer(process.pid, mark.kill_leftovers)
    try:
        status = process.wait()
    finally:
        overseer.close()
        mark.kill_leftovers()
        process.wait()
    if overseer.why:
        say(f"hang: {overseer.why}")
    if status == CANNOT_START:
        return FAILED
    return DONE if status == 0 else FINDINGS  # also a target that kills its process


class _Shown:
    """What a target prints, made harmless, and not without end."""

    def __init__(self) -> None:
        self._left = MAX_SHOWN
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._line_open = False

    def take(self, data: bytes) -> None:
        if self._left > 0:
            self._show(self._decoder.decode(data[: self._left]))
            self._left -= len(data)
            if self._left <= 0:
                self._show("\n... the rest of what it prints is left out\n")

    def end(self) -> None:
        self._show(self._decoder.decode(b"", final=True) + ("\n" if self._line_open else ""))

    def _show(self, text: str) -> None:
        if text:
            print(visible(text, lines=True), end="", flush=True)
            self._line_open = not text.endswith("\n")


class _ProgressLine:
    """One line on a terminal that is written over and over; elsewhere nothing.

    ``lines``: a separate line each time, on any stream.
    """

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines
        self._shown = not lines and sys.stderr is not None and sys.stderr.isatty()

    def show(self, words: str, part: float) -> None:
        share = f" {part:.0%}" if part >= 0 else ""
        if self._lines:
            try:
                print(f"{words[:200]}{share}", file=sys.stderr, flush=True)
            except BrokenPipeError:  # the reader has ended; the smallest input is written anyway
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        elif self._shown:
            print(f"\r\x1b[K{words[:200]}{share}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
