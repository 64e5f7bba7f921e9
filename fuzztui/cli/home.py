"""``fuzztui`` without arguments on a terminal: the home screen, and what is chosen there."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fuzztui.cli.attach import attach
from fuzztui.cli.list_runs import places_of
from fuzztui.cli.output import DONE, say
from fuzztui.cli.replay import replay
from fuzztui.cli.samples import about
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.text import brief
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.extras import refuse_missing_extras
from fuzztui.run.campaign.files import SAMPLES
from fuzztui.run.home.listing import RunList
from fuzztui.tui import run_home
from fuzztui.tui.app.home import INIT, HomeOpening
from fuzztui.tui.base.user_state import last_look
from fuzztui.tui.screens.home.lines import SampleRow

_CLOSE_S = 1.0

_START_S = 600.0
"""Seconds after which a start that does not return is left alone: targets may be built."""


def home(options: argparse.Namespace) -> int:
    """Show the home screen and what the user chooses on it, in turns, until the user leaves."""
    opening = HomeOpening(RunList(places_of([])), start_detached, sample_rows, last_look)
    try:
        return _show(opening)
    finally:
        if opening.lock.acquire(timeout=_CLOSE_S):  # else a read hangs
            opening.runs.close()


def _show(opening: HomeOpening) -> int:
    while True:
        code, app = run_home(opening)
        if app is None or app.choice is None:
            return code
        opening = replace(opening, view=app.last_view)
        try:
            if app.choice == INIT:
                _init()
            elif isinstance(app.choice, Path):
                opening = replace(opening, view=replace(opening.view, at=app.choice))
                _open(app.choice, ended=app.choice_ended)
        except UserError as failure:
            say(str(failure))
            if not _goes_on():
                return failure.code


def _open(run: Path, *, ended: bool) -> None:
    if ended:
        replay(argparse.Namespace(path=run, json=False, at=None, speed=1.0, theme=None))
    else:
        attach(argparse.Namespace(run=run, theme=None, read_only=False))


def _init() -> None:
    """Run ``fuzztui init`` on this terminal."""
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends init only
        subprocess.run([*_FUZZTUI, "init"], check=False)
    _goes_on()


def _goes_on() -> bool:
    """Wait for Enter, so that what was printed can be read; False: the user leaves."""
    try:
        input("Enter: back to the home screen. Ctrl-C leaves. ")
    except (EOFError, KeyboardInterrupt):
        return False
    return True


_FUZZTUI = [sys.executable, "-P", "-m", "fuzztui"]


def start_detached(argv: Sequence[str]) -> str:
    """Start or resume a campaign in the background. Returns why not; "": it was started."""
    command = [*_FUZZTUI, *argv, "--detach"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_START_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "the start takes more than ten minutes; it continues in the background"
    except OSError as e:
        return f"cannot start fuzztui: {e.strerror}"
    if done.returncode == DONE:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    text = "\n".join(line.removeprefix("fuzztui: ") for line in lines[-5:])
    return brief(text or f"exit code {done.returncode}", 1000)


def sample_rows() -> list[SampleRow]:
    """Return the samples, each with what is missing for it on this machine."""
    rows = []
    for path in sorted(SAMPLES.glob("*.toml")):
        rows.append(SampleRow(path.name, about(path), _missing(path)))
    return rows


def _missing(path: Path) -> str:
    try:
        loaded = load(path)
        refuse_missing_extras(loaded)
    except CampaignError as e:
        return brief(str(e).rpartition(": ")[2].partition(",")[0], 60)
    if loaded.campaign.kind == "afl" and shutil.which("afl-fuzz") is None:
        return "needs AFL++"
    return ""
