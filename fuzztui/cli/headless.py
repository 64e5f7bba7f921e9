"""Follow a campaign without a screen."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path
from types import FrameType

from fuzztui.cli.host_lines import HostNews, lost_text, preparing
from fuzztui.cli.json_output import print_json
from fuzztui.cli.mutant_lines import exact_pass, grouped
from fuzztui.cli.output import DONE, FAILED, FINDINGS, at_terminal, duration, say, speed
from fuzztui.cli.runs import RunStatus, fold_all, open_session
from fuzztui.cli.status import status_object, status_text
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.finding_tallies import listed, tallies
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.selectors import ENDED, fuzzing_time, totals
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.client import ControlClient, RemoteError
from fuzztui.kernel.remote.lock import running, trouble
from fuzztui.kernel.wire.commands import Stop

POLL = 0.2
PREPARING_S = 2.0
"""Seconds between two lines while hosts are prepared: users wait for that."""
_HURRY_S = 2.0
"""Seconds from a stop at a time limit to the next one."""
LINE_EVERY = {"json": 1.0, "terminal": 0.5, "file": 10.0}


def wait_for_end(
    run: Path, *, as_json: bool, summary: bool = True, until: float = float("inf")
) -> int:
    """Print progress until the campaign ends; return the exit code.

    ``summary``: print the status at the end. ``until``: the monotonic time at which the campaign
    is stopped; ``_HURRY_S`` later it is stopped again, so that it leaves pending checks undone.

    Ctrl-C or SIGTERM stops the campaign cleanly. A lost terminal (SIGHUP) leaves it running.
    """
    session = open_session(run)
    stopper = _Stopper(run)
    style = "json" if as_json else "terminal" if at_terminal() else "file"
    due = 0.0
    news = HostNews()
    while True:
        state = fold_all(session)
        pid = running(run)
        over = state.state in ENDED or pid is None
        for text in news.changes(state.hosts.values()):
            if style == "terminal":
                print("\r\x1b[K", end="", flush=True)
            say(text)
        if time.monotonic() >= due and not over:
            wait = PREPARING_S if preparing(state.hosts.values()) else LINE_EVERY[style]
            due = time.monotonic() + min(wait, LINE_EVERY[style])
            now = RunStatus(state, pid, trouble(run), problems=session.problems)
            _progress(run, now, style)
        if not over and time.monotonic() >= until:
            until = time.monotonic() + _HURRY_S  # the second time it leaves checks undone
            stopper.stop()
        if over:
            now = RunStatus(fold_all(session), running(run), problems=session.problems)
            break
        time.sleep(POLL)
    stopper.restore()
    if style == "json":
        print_json("status", status_object(run, now), indent=None)
    else:
        if style == "terminal":
            print("\r\x1b[K", end="")
        if summary:
            print(status_text(run, now), flush=True)
    return exit_code(now)


def exit_code(now: RunStatus) -> int:
    """Return the exit code of a command that has followed a campaign to its end."""
    if now.state_name in ("failed", "interrupted", "empty"):
        return FAILED
    # The crash of a mutant is not a finding.
    if any(found.open or found.unexamined for found in tallies(now.state).values()):
        return FINDINGS
    return FAILED if unmeasured(now.state) else DONE


def _progress(run: Path, now: RunStatus, style: str) -> None:
    if style == "json":
        print_json("status", status_object(run, now), indent=None)
        return
    line = progress_line(now.state) + ("  (at least)" if now.is_lower_bound else "")
    line += f"  {brief(now.trouble)}" if now.trouble else ""
    hosts = now.state.hosts.values()
    line += "".join(f"  {text}" for text in (lost_text(hosts), preparing(hosts)) if text)
    if style == "terminal":
        print(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)
    else:
        print(line, flush=True)


def progress_line(state: State) -> str:
    """Format one line: time, state, execs, rate, corpus, edges, kills, findings."""
    t = totals(state).stats
    of = f"/{duration(state.budget_s)}" if state.budget_s else ""
    total = f"/{t.edges_total}" if t.edges_total > 0 else ""
    edges = f"  edges {t.edges}{total}" if t.edges >= 0 else ""
    word = "" if state.state == "running" else f"  {brief(state.state)}"
    killed = state.mutant_counts.get("killed", 0)
    summary = mutants_summary(state)
    mutants = f"  killed {summary.at_least}{killed}/{len(state.mutants)}" if state.mutants else ""
    if passing := [f.backlog for f in state.mutation.values() if f.phase]:
        mutants += f"  {exact_pass(summary, sum(passing))}"
    if state.stage:
        killed, judged = summary.scored
        mutants = f"  {brief(state.stage)}: {killed} of {judged} killed"
    found = "  ".join(f"{kind.label} {grouped(tally)}" for kind, tally in listed(tallies(state)))
    ran = fuzzing_time(state)  # the exact pass has its own estimate
    return (
        f"{duration(ran)}{of}{word}  execs {t.execs:,}  {speed(t.execs_per_sec)}  "
        f"corpus {t.corpus}{edges}{mutants}  {found}"
    )


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Stopper:
    """Sends a ``stop`` command at SIGINT or SIGTERM; a second signal ends this process at once.

    An ignored signal stays ignored: shells ignore SIGINT in background processes.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self.stopping = False
        handled = [s for s in _SIGNALS if signal.getsignal(s) is not signal.SIG_IGN]
        self.before = {s: signal.signal(s, self._handle) for s in handled}

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.stopping:
            say(f"leaving; the campaign may still be stopping: fuzztui status {self.run}")
            raise KeyboardInterrupt
        self.stopping = True
        file = self.run / "campaign.toml"
        say(f"stopping the campaign (fuzztui {file} resumes it); press Ctrl-C to leave at once")
        self.stop()

    def stop(self) -> None:
        """Send the command."""
        try:
            client = ControlClient(self.run, "headless")
            client.send(Stop(), timeout=0.5)
            client.close()
        except RemoteError as e:
            say(str(e))

    def restore(self) -> None:
        """Restore the former signal handlers."""
        for signum, handler in self.before.items():
            signal.signal(signum, handler)
