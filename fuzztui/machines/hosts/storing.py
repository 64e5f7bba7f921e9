"""Inputs of a host, in the hub's run: nothing outside the host's own directories."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fuzztui.engines.directory.rescue import UNSAFE
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.kernel.wire.afl import id_of
from fuzztui.kernel.wire.events import Event, Message
from fuzztui.machines.hosts.entries import GaplessQueue
from fuzztui.machines.hosts.protocol import file_name, folder_name, instance_name
from fuzztui.machines.hosts.room import DIRECTORY, FILE, HubRoom, file_cost, replaced_cost
from fuzztui.run.campaign.rundir import RunDir

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""Errors that end when the user makes room, or mounts the disk again."""

FULL_S: Final = 0.5
"""Seconds between two attempts to store what has come while the disk here is full."""

_LOST_IDS: Final = 5_000
"""Most ids of a host's queue that may lack an entry, because its file is too large or deleted."""


class HostInputs:
    """Stores the files that a host sends. ``main``: the host's main instance."""

    def __init__(
        self,
        run_dir: RunDir,
        host: str,
        main: str,
        record: Callable[[Event], None],
        room: HubRoom,
        *,
        elsewhere: Callable[[str], int],
    ) -> None:
        """``elsewhere``: the number of entries that do not come from an instance's host."""
        self._run_dir, self._host, self._main, self._record = run_dir, host, main, record
        self._room, self._elsewhere = room, elsewhere
        self._queue: GaplessQueue | None = None
        self._refused = 0

    async def store(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Store files, and return those that were stored. Waits while there is no room.

        The caller logs the records that name the files afterwards.
        """
        if not files:  # as in most messages
            return {}
        reported = False
        while True:
            try:
                return await asyncio.to_thread(self._store, files)
            except OSError as e:
                if not reported:
                    text = (
                        f"{self._host}: files cannot be stored here: {e.strerror}; what the host "
                        "has recorded waits there"
                    )
                    self._record(Message("error", text))
                reported = True
            await asyncio.sleep(FULL_S)

    def _store(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Store files of the host's instances below ``out/``. Returns those that were stored.

        Stores no more once the host exceeds its limit. Raises OSError if this machine has no room.
        """
        stored = {}
        # By id, as far as they come together: engines import the next id only.
        for path, data in sorted(files.items(), key=lambda file: id_of(Path(file[0]).name)):
            if self._room.excess(self._host):
                break
            try:
                target = self._target(path)
                cost = file_cost(len(data)) - replaced_cost(target)
                if target.parent.name == "queue":
                    if self._queue is None:
                        self._queue = GaplessQueue(target.parent.parent)
                    # Entries that the host has imported have ids there, but are not sent back.
                    most = _LOST_IDS + self._elsewhere(self._main)
                    cost += FILE * self._queue.store(target.name, data, most)
                else:
                    cost += 0 if target.parent.is_dir() else 2 * DIRECTORY
                    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    replace_bytes(target, data, self._run_dir.out)
                self._room.add_files(self._host, cost)
                stored[path] = data
            except (ProtocolError, OSError) as e:
                if isinstance(e, OSError) and e.errno in NO_ROOM:
                    raise
                self._room.add_files(self._host, len(data))  # refused files count, too
                self.refuse(f"{path[:200]!r}: {e}")
        return stored

    def _target(self, path: str) -> Path:
        instance, _, rest = path.partition("/")
        instance = instance_name(self.named(instance))
        directory = self._run_dir.instance(instance)
        if rest == UNSAFE:
            return directory / UNSAFE
        folder, _, name = rest.partition("/")
        if folder == "queue" and instance != self._main:
            raise ProtocolError("not an entry of the main instance")
        return directory / folder_name(folder) / file_name(name)

    def named(self, instance: str) -> str:
        """Return an instance's name in the hub's run: it begins with the name of the host."""
        return instance if instance.startswith(f"{self._host}_") else f"{self._host}_{instance}"

    def refuse(self, what: str) -> None:
        """Report data of the host that were left out: only the first, as there may be many."""
        self._refused += 1
        if self._refused == 1:
            text = f"{self._host} sent what was left out (only the first is named): {what}"
            self._record(Message("warning", text))
