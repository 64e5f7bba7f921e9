"""Files of hosts that screens at the hub show: copied on demand, next to the run's own files."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import inside
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.mirrored import FETCHED
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.link import LinkLost

MAX_FETCHED: Final = 1 << 30
"""Bytes of copied files after which all are forgotten: what is shown again is copied again."""


class HostFiles:
    """Copies files of hosts into a directory of the hub's run, from which no engine imports.

    ``read``: returns a file of a host, by its name and the path in its run; raises LinkLost,
    ProtocolError.
    """

    def __init__(
        self, run: Path, state: State, read: Callable[[str, str], Awaitable[bytes]]
    ) -> None:
        self._place = run / FETCHED
        self._state = state
        self._read = read
        self._bytes = 0

    def begin(self) -> None:
        """Forget what was copied. Blocking."""
        self._bytes = 0
        shutil.rmtree(self._place, ignore_errors=True)
        with contextlib.suppress(OSError):  # screens then show only what is here anyway
            self._place.mkdir(mode=0o700, parents=True)

    async def fetch(self, file: str) -> str:
        """Copy a file, by its path in the run. Returns why that failed; "" if it did not."""
        host = self._host_of(file)
        if not host:
            return "no host has this file"
        return await copied(self._counted(host, file), self._place, file)

    async def _counted(self, host: str, file: str) -> bytes:
        data = await self._read(host, file)
        self._bytes += len(data)
        if self._bytes > MAX_FETCHED:
            await asyncio.to_thread(self.begin)
        return data

    def _host_of(self, file: str) -> str:
        for instance in self._state.instances.values():
            folders = (instance.directory or f"out/{instance.id}", f"minimised/{instance.id}")
            if instance.host and any(file.startswith(f"{folder}/") for folder in folders):
                return instance.host
        return ""


async def copied(reading: Awaitable[bytes], place: Path, file: str) -> str:
    """Copy a file of another machine into ``place``, by its path in the run.

    Returns why that failed; "" if it did not.
    """
    try:
        data = await reading
        path = inside(place, file)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_bytes(path, data)
    except (LinkLost, ProtocolError) as e:
        return str(e)
    except (OSError, ValueError) as e:
        return getattr(e, "strerror", None) or str(e)
    return ""
