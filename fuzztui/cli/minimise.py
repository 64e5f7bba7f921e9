"""``minimise``: make the input of a finding smaller, with the same signature."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import signal
import sys
from collections.abc import Awaitable, Callable

from fuzztui.cli.beside import at_eof
from fuzztui.cli.output import DONE
from fuzztui.cli.repro import afl_campaign, finding_file, repro_by_engine
from fuzztui.cli.runs import find_run
from fuzztui.cli.target_runs import of_target
from fuzztui.features.minimise import program_inputs, python_inputs
from fuzztui.features.minimise.rewrite import Search, minimised_path
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign.rundir import RunDir


def minimise(options: argparse.Namespace) -> int:
    """Make a smaller input with the same signature."""
    run_dir = RunDir(find_run(options.run))
    run_dir, file = of_target(run_dir, finding_file(run_dir, options.file))
    campaign = afl_campaign(run_dir)
    output = (options.output or minimised_path(run_dir, file)).absolute()
    if output.is_dir():
        output /= file.name
    line = _ProgressLine(lines=options.progress)
    longest_s = math.inf if options.time == 0 else options.time  # as elsewhere, 0: no limit

    def begin(stop: Callable[[], bool]) -> Awaitable[str]:
        usual_s = (python_inputs if campaign is None else program_inputs).LONGEST_S
        search = Search(line.show, usual_s if longest_s is None else longest_s, stop)
        if campaign is None:
            return python_inputs.minimise_by_engine(run_dir, file, output, search)
        return program_inputs.minimise(campaign, run_dir, file, output, search)

    try:
        message = asyncio.run(_until_stopped(begin, until_eof=options.until_eof))
    finally:
        line.end()
    print(visible(message), flush=True)
    if campaign is None and not options.progress:
        repro_by_engine(run_dir, output, near=file)  # shows the smaller input and how it fails
    return DONE


async def _until_stopped(
    begin: Callable[[Callable[[], bool]], Awaitable[str]], *, until_eof: bool
) -> str:
    """Call ``begin`` with a function that returns whether to stop, and await the result.

    Stopping keeps the smallest input found. SIGINT, SIGTERM and SIGHUP stop, and the end of stdin
    if ``until_eof``. After a stop, a SIGINT ends this process at once. The other signals do not: a
    terminal that is closed sends SIGHUP and also ends stdin, which must count as one stop.
    """
    loop, stopped = asyncio.get_running_loop(), False

    def stop() -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            loop.remove_signal_handler(signal.SIGINT)

    def stop_from_thread() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended meanwhile
            loop.call_soon_threadsafe(stop)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) != signal.SIG_IGN:  # nohup
            loop.add_signal_handler(signum, stop)
    if until_eof:
        at_eof(stop_from_thread)
    return await begin(lambda: stopped)


class _ProgressLine:
    """One progress line on a terminal, rewritten each time; nothing on other streams.

    ``lines``: print a separate line each time, on any stream.
    """

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines
        self._shown = not lines and sys.stderr is not None and sys.stderr.isatty()

    def show(self, text: str, part: float) -> None:
        share = f" {part:.0%}" if part >= 0 else ""
        if self._lines:
            try:
                print(f"{text[:200]}{share}", file=sys.stderr, flush=True)
            except BrokenPipeError:  # the reader has ended; the smallest input is written anyway
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        elif self._shown:
            print(f"\r\x1b[K{text[:200]}{share}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
