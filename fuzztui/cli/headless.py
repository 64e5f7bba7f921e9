"""Following a campaign without a screen."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from types import FrameType

from fuzztui.cli.look import status_object, status_text
from fuzztui.cli.runs import Standing, fold_all, open_session
from fuzztui.cli.words import DONE, FAILED, at_terminal, duration, say, speed
from fuzztui.model.first import tally
from fuzztui.model.selectors import ENDED, running_time, totals
from fuzztui.model.state import State
from fuzztui.remote.client import ControlClient, RemoteError, running, trouble
from fuzztui.wire.commands import Stop
from fuzztui.wire.text import visible

POLL = 0.2
LINE_EVERY = {"json": 1.0, "terminal": 0.5, "file": 10.0}


def follow(run: Path, *, as_json: bool) -> int:
    """Print progress until the campaign ends; returns the exit code.

    Ctrl-C or SIGTERM stops the campaign cleanly: whoever started it headless has no
    other key. A lost terminal (SIGHUP) leaves it running.
    """
    session = open_session(run)
    stopper = _Stopper(run)
    style = "json" if as_json else "terminal" if at_terminal() else "file"
    due = 0.0
    while True:
        state = fold_all(session)
        pid = running(run)
        over = state.state in ENDED or pid is None
        if time.monotonic() >= due and not over:
            due = time.monotonic() + LINE_EVERY[style]
            _progress(run, Standing(state, pid, trouble(run)), style)
        if over:
            now = Standing(fold_all(session), running(run))
            break
        time.sleep(POLL)
    stopper.restore()
    if style == "json":
        print(json.dumps(status_object(run, now)), flush=True)
    else:
        if style == "terminal":
            print("\r\x1b[K", end="")
        print(status_text(run, now), flush=True)
    return FAILED if now.word in ("failed", "interrupted", "empty") else DONE


def _progress(run: Path, now: Standing, style: str) -> None:
    if style == "json":
        print(json.dumps(status_object(run, now)), flush=True)
        return
    line = progress_line(now.state) + (f"  {visible(now.trouble)}" if now.trouble else "")
    if style == "terminal":
        print(f"\r\x1b[K{line}", end="", flush=True)
    else:
        print(line, flush=True)


def progress_line(state: State) -> str:
    """One line: time, state, execs, rate, corpus, edges, kills, finds."""
    t = totals(state)
    of = f"/{duration(state.budget_s)}" if state.budget_s else ""
    edges = f"  edges {t.edges}/{t.edges_total}" if t.edges >= 0 else ""
    word = "" if state.state == "running" else f"  {visible(state.state)}"
    killed = state.mutant_counts.get("killed", 0)
    mutants = f"  killed {killed}/{len(state.mutants)}" if state.mutants else ""
    if state.stage:
        killed, judged = tally(state.mutants.values())
        mutants = f"  {visible(state.stage)}: {killed} of {judged} killed"
    return (
        f"{duration(running_time(state))}{of}{word}  execs {t.execs:,}  {speed(t.execs_per_sec)}  "
        f"corpus {t.corpus}{edges}{mutants}  crashes {t.crashes}  hangs {t.hangs}"
    )


class _Stopper:
    """Turns SIGINT and SIGTERM into one ``stop`` command; a second one leaves at once."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.asked = False
        self.before = {s: signal.signal(s, self._handle) for s in (signal.SIGINT, signal.SIGTERM)}

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.asked:
            say(f"leaving; the campaign may still be stopping: fuzztui status {self.run}")
            raise KeyboardInterrupt
        self.asked = True
        again = self.run / "campaign.toml"
        say(f"stopping the campaign (fuzztui {again} resumes it); again to leave at once")
        try:
            client = ControlClient(self.run, "headless")
            client.send(Stop(), timeout=0.5)
            client.close()
        except RemoteError as e:
            say(str(e))

    def restore(self) -> None:
        """Put the former handlers back."""
        for signum, handler in self.before.items():
            signal.signal(signum, handler)
