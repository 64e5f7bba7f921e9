"""The faults: each is a function of a series and a random source that says what it did."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from faults import processes
from faults.clock import JUMPS
from faults.fold import Violation
from faults.processes import Process
from faults.terminal import Screen

if TYPE_CHECKING:
    from faults.series import Series

SHORT_S = 1.5
"""Seconds for which a short-lived process (a helper, an isolated child) is waited for."""
EXACT_S = 10.0
"""Seconds within which the exact pass starts."""
SCREEN_S = 60.0

Fault = Callable[["Series", random.Random], list[str]]
"""Hurts the campaign; returns the roles of the processes that were killed."""


# ------------------------------------------------------------------------ kills


def _kill(victims: list[Process]) -> list[str]:
    return [victim.role for victim in victims if victim.signal(signal.SIGKILL)]


def _of_role(role: str, seconds: float = SHORT_S) -> Fault:
    """Kill one process of this role, which may live for a moment only."""

    def fault(series: Series, rng: random.Random) -> list[str]:
        end = time.monotonic() + seconds
        choice = rng.random()
        while True:
            found = [p for p in series.processes() if p.role == role]
            if killed := _kill([found[int(choice * len(found))]]) if found else []:
                return killed
            if time.monotonic() > end:
                return []
            time.sleep(0.005)

    return fault


def _isolated(series: Series, rng: random.Random) -> list[str]:
    """Ask for the exact pass of ``mu2``, and kill a child in which it runs a mutant."""
    asked = series.ask("ctl", str(series.run), "exact-pass")
    killed = _of_role("isolated", EXACT_S)(series, rng)
    series.finish(asked)
    return killed


def _any(series: Series, rng: random.Random) -> list[str]:
    """Kill one to three processes, whatever they are."""
    found = series.processes()
    return _kill(rng.sample(found, min(len(found), rng.randint(1, 3))))


def _all(series: Series, rng: random.Random) -> list[str]:
    """Kill everything at once, in a random order, as a machine that runs out of memory may."""
    found = series.processes()
    rng.shuffle(found)
    return _kill(found)


def _start(series: Series, rng: random.Random) -> list[str]:
    """Kill the supervisor, give the command again, and kill what that starts while it starts."""
    killed = _of_role("supervisor")(series, rng)
    for _ in range(rng.randint(1, 2)):
        begun = series.begin()
        time.sleep(rng.uniform(0.0, 1.2))
        killed += _kill([p for p in series.processes() if p.role in ("supervisor", "command")])
        begun.wait()
    # Several at the same moment: one of them starts it, the others rejoin.
    at_once = [series.begin() for _ in range(rng.randint(1, 3))]
    for one in at_once:
        if code := series.finish(one):
            text = f"one of {len(at_once)} at once: exit {code}: {series.last_words()}"
            series.note(Violation("command", text))
    return killed


# ---------------------------------------------------------------------- screens


def _screen(number: signal.Signals | None) -> Fault:
    """Open a screen and send it a signal; None: close its terminal."""

    def fault(series: Series, rng: random.Random) -> list[str]:
        screen = series.open_screen()
        try:
            _end_screen(series, screen, number, rng)
        finally:
            screen.process.kill()
            screen.process.wait()
            screen.cut()
        return ["screen"]

    return fault


def _end_screen(
    series: Series, screen: Screen, number: signal.Signals | None, rng: random.Random
) -> None:
    end = time.monotonic() + SCREEN_S
    # A kill while it starts is a fault too, but the terminal cannot be checked then.
    while not screen.shown:
        if screen.process.poll() is not None or time.monotonic() > end:
            series.note(Violation("screen", f"it did not open: exit {screen.process.poll()}"))
            return
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 1.0))
    if number is None:
        screen.cut()
    else:
        screen.process.send_signal(number)
    try:
        screen.process.wait(SCREEN_S)
    except subprocess.TimeoutExpired:
        series.note(Violation("screen", f"it lives {SCREEN_S:g} s after {number}"))
        return
    if number is not None and number != signal.SIGKILL:  # which no process can handle
        screen.drain()
        if left := screen.left_behind():
            series.note(Violation("terminal", f"after {number.name}: {', '.join(left)}"))


# ------------------------------------------------------- sleep, clock, full disk


def _sleep(series: Series, rng: random.Random) -> list[str]:
    """Stop everything for a moment, as a suspended machine does."""
    found = series.processes()
    _stop(found, rng)
    return []


def _nap(series: Series, rng: random.Random) -> list[str]:
    """Stop one process for a moment."""
    found = series.processes()
    _stop([rng.choice(found)] if found else [], rng)
    return []


def _stop(found: list[Process], rng: random.Random) -> None:
    # What is stopped already is stopped by the product (a pause): it stays so.
    stopped = [p for p in found if p.state not in "Tt" and p.signal(signal.SIGSTOP)]
    try:
        time.sleep(rng.uniform(0.3, 4.0))
    finally:
        rng.shuffle(stopped)
        processes.signal_all(stopped, signal.SIGCONT)


def _clock(series: Series, rng: random.Random) -> list[str]:
    """Let the wall clock jump once to thrice."""
    if series.clock is None:
        return []
    for _ in range(rng.randint(1, 3)):
        series.clock.set(rng.choice(JUMPS))
        time.sleep(rng.uniform(0.5, 2.0))
    return []


def _disk(kill: bool) -> Fault:
    """Fill the disk of the run for a moment; ``kill``: the supervisor dies meanwhile."""

    def fault(series: Series, rng: random.Random) -> list[str]:
        filler = series.disk / "filler"
        killed: list[str] = []
        try:
            _fill(filler)
            time.sleep(rng.uniform(0.2, 2.0))
            _fill(filler)  # the campaign may have removed something
            if kill:
                killed = _of_role("supervisor")(series, rng)
                series.begin().wait()  # may fail, and must not harm
            time.sleep(rng.uniform(0.0, 2.0))
        finally:
            filler.unlink(missing_ok=True)
        return killed

    return fault


def _fill(file: Path) -> None:
    with file.open("ab", buffering=0) as out, suppress(OSError):
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while out.write(os.urandom(1) * size) == size:
                    pass


FAULTS: dict[str, Fault] = {
    **{
        role: _of_role(role)
        for role in ("supervisor", "monitor", "worker", "afl-fuzz", "forkserver", "helper")
    },
    "isolated": _isolated,
    "any": _any,
    "all": _all,
    "start": _start,
    "screen-int": _screen(signal.SIGINT),
    "screen-term": _screen(signal.SIGTERM),
    "screen-hup": _screen(signal.SIGHUP),
    "screen-kill": _screen(signal.SIGKILL),
    "terminal": _screen(None),
    "sleep": _sleep,
    "nap": _nap,
    "clock": _clock,
    "disk": _disk(kill=False),
    "disk-supervisor": _disk(kill=True),
}  # fmt: skip
"""Every fault by its name in the table."""
