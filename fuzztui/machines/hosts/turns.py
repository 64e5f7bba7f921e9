"""Turns: only some hosts at a time connect, or are sent a campaign.

Two hundred handshakes and uploads at the same moment would make each of them so slow that it fails.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

AT_A_TIME: Final = 10
"""Hosts that connect, or are sent the campaign, at the same time."""

LONGEST_S: Final = 15.0
"""Seconds after which a host that hangs, or has a slow link, lets the next one begin, too."""


class Turns:
    """Turns in the order in which they are asked for."""

    def __init__(self, at_a_time: int = AT_A_TIME, longest_s: float = LONGEST_S) -> None:
        self._free = asyncio.Semaphore(at_a_time)
        self._longest_s = longest_s

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn. It ends with the block, or earlier if that takes long."""
        await self._free.acquire()
        is_mine = True

        def end() -> None:
            nonlocal is_mine
            if is_mine:
                is_mine = False
                self._free.release()

        early = asyncio.get_running_loop().call_later(self._longest_s, end)
        try:
            yield
        finally:
            early.cancel()
            end()
