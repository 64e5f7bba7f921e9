"""Polls the session and passes its changes to the app, without blocking the event loop.

The session reads files, so that it is polled in a thread (milliseconds, or endless on a dead
network file system). Meanwhile the state is *lent* to the thread: code that iterates over its
tables must use :meth:`Feed.when_free`; reading single rows is always safe.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from fuzztui.kernel.model.state import Changes
from fuzztui.kernel.session import Session
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.config_file import MAX_HZ, MIN_HZ

LOCAL_HZ = 4.0
REMOTE_HZ = 2.0
"""Polls per second over SSH, where every repaint is sent through the network."""

BACK_OFF_S = 2.0
"""Seconds until the next poll after the session failed."""

QUIET_S = 1.0
"""Seconds between polls while nothing happens: polling is a third of an idle screen's cost."""

QUIET_POLLS = 12
"""Polls without changes after which :data:`QUIET_S` applies."""


def default_hz(configured: float = 0.0) -> float:
    """Polls per second: ``FUZZTUI_HZ``, else ``configured`` (0: not set), else a default.

    The default is lower over SSH.
    """
    try:
        hz = float(os.environ.get("FUZZTUI_HZ", ""))
        if MIN_HZ <= hz <= MAX_HZ:
            return hz
    except ValueError:
        pass
    if configured:
        return configured
    return REMOTE_HZ if os.environ.get("SSH_CONNECTION") else LOCAL_HZ


class Listener(Protocol):
    """Receives the feed's calls: in the event loop, never while the state is lent."""

    def on_changes(self, changes: Changes) -> None:
        """Called after the state changed."""

    def on_present(self) -> None:
        """Called once: the session has read all that the log had."""

    def on_trouble(self, problem: str) -> None:
        """Called when the session failed and is retried; with "" when it works again."""


class Feed:
    """Polls ``session`` ``hz`` times per second and calls ``listener``."""

    def __init__(self, session: Session, listener: Listener, hz: float) -> None:
        self._session = session
        self._listener = listener
        self._interval = 1 / hz
        self._lent = False
        self._waiting: list[Callable[[], None]] = []
        self._target: float | None = None
        self._wake = asyncio.Event()
        self._feed_problem = ""
        self._quiet = 0
        self._present = False

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            self._wake.clear()
            changes = await self._step()
            pause = BACK_OFF_S if self._feed_problem else self._interval
            self._quiet = self._quiet + 1 if changes == Changes() else 0
            if self._quiet > QUIET_POLLS and self._session.mode == "live":
                pause = max(pause, QUIET_S)
            if changes is not None and self._session.behind:
                pause = 0.0
            elif changes is not None and not self._present and self._session.is_settled:
                self._present = True
                self._listener.on_present()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    def seek(self, t: float) -> None:
        """Seek to campaign time ``t`` as soon as possible; a later call replaces this one."""
        self._target = t
        self._wake.set()

    def nudge(self) -> None:
        """Poll now, and again soon."""
        self._quiet = 0
        self._wake.set()

    def when_free(self, look: Callable[[], None]) -> None:
        """Call ``look`` when the state is not lent: now, or after the running poll."""
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
        except Exception as e:  # any error is shown, and the screen continues
            trouble = _words(e)
        self._lent = False
        if trouble != self._feed_problem:
            self._feed_problem = trouble
            self._listener.on_trouble(trouble)
        if changes is not None and changes != Changes():
            self._listener.on_changes(changes)
        waiting, self._waiting = self._waiting, []
        for look in waiting:
            look()
        return changes


def _words(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return (
            f"{error.filename}: the log was deleted or moved; the screen shows its last known state"
        )
    if isinstance(error, OSError):
        return f"{error.filename or 'the log'}: {error.strerror or error}"
    return f"{type(error).__name__}: {error}"
