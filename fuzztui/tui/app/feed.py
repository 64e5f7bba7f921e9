"""Brings the session's changes to the screen, without ever waiting in the event loop.

The session reads files: it is polled in a thread. While it is (milliseconds, or for
ever on a dead network file system), the state is *lent*: whoever wants to walk
through its tables asks :meth:`Feed.when_free`; looking up single rows is always fine.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from fuzztui.model.state import Changes
from fuzztui.session import Session
from fuzztui.tui.base.background import in_thread

LOCAL_HZ = 4.0
REMOTE_HZ = 2.0
"""Over SSH every repaint travels."""

BACK_OFF_S = 2.0
"""Pause after the session failed."""

QUIET_S = 1.0
"""Pause while nothing happens: polling is a third of what a screen at rest costs."""

QUIET_POLLS = 12
"""So many polls that bring nothing are quiet."""


def default_hz() -> float:
    """Polls a second: ``FUZZTUI_HZ``, or by whether the terminal is a remote one."""
    try:
        hz = float(os.environ.get("FUZZTUI_HZ", ""))
        if 0.1 <= hz <= 60:
            return hz
    except ValueError:
        pass
    return REMOTE_HZ if os.environ.get("SSH_CONNECTION") else LOCAL_HZ


class Listener(Protocol):
    """Who is told; always in the event loop, never while the state is lent."""

    def on_changes(self, changes: Changes) -> None:
        """The state moved on."""

    def on_trouble(self, problem: str) -> None:
        """The session failed (it is tried again), or works again (``problem`` is "")."""


class Feed:
    """Polls ``session`` ``hz`` times a second and tells ``listener``."""

    def __init__(self, session: Session, listener: Listener, hz: float) -> None:
        self._session = session
        self._listener = listener
        self._interval = 1 / hz
        self._lent = False
        self._waiting: list[Callable[[], None]] = []
        self._target: float | None = None
        self._wake = asyncio.Event()
        self._trouble = ""
        self._quiet = 0

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            self._wake.clear()
            changes = await self._step()
            pause = BACK_OFF_S if self._trouble else self._interval
            self._quiet = self._quiet + 1 if changes == Changes() else 0
            if self._quiet > QUIET_POLLS and self._session.mode == "live":
                pause = max(pause, QUIET_S)
            if changes is not None and self._session.behind:
                pause = 0.0
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    def seek(self, t: float) -> None:
        """Go to campaign time ``t`` as soon as possible; a later call wins."""
        self._target = t
        self._wake.set()

    def nudge(self) -> None:
        """Poll now, and soon again."""
        self._quiet = 0
        self._wake.set()

    def when_free(self, look: Callable[[], None]) -> None:
        """Call ``look`` when nothing changes the state: now, or after the running poll."""
        if self._lent:
            self._waiting.append(look)
        else:
            look()

    async def _step(self) -> Changes | None:
        target, self._target = self._target, None
        session = self._session
        self._lent = True
        changes: Changes | None = None
        trouble = ""
        try:
            changes = await in_thread(
                session.poll if target is None else lambda: session.seek(target)
            )
        except Exception as e:  # whatever it is, the screen continues and says so
            trouble = _words(e)
        self._lent = False
        if trouble != self._trouble:
            self._trouble = trouble
            self._listener.on_trouble(trouble)
        if changes is not None and changes != Changes():
            self._listener.on_changes(changes)
        waiting, self._waiting = self._waiting, []
        for look in waiting:
            look()
        return changes


def _words(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"The log is gone: {error.filename}. What is shown is the last that was read"
    if isinstance(error, OSError):
        return f"{error.filename or 'the log'}: {error.strerror or error}"
    return f"{type(error).__name__}: {error}"
