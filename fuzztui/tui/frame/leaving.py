"""Leaving an application: what its user has asked for is carried out first."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.worker import WorkerError

LEAVE_S = 2.0
"""Maximal seconds for which leaving the app waits until commands are sent."""

STEER, REMEMBER = "steer", "remember"
"""Groups of workers for which leaving waits: sending commands, and storing a theme."""


async def all_sent(app: App[Any]) -> None:
    """Wait until commands are sent and choices are stored, :data:`LEAVE_S` at most."""
    ours = [w for w in app.workers if w.group in (STEER, REMEMBER) and not w.is_finished]
    if ours:
        with suppress(TimeoutError, WorkerError):
            await asyncio.wait_for(app.workers.wait_for_complete(ours), LEAVE_S)
