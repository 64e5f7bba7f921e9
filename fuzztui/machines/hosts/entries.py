"""Queue entries of other hosts, in this run: ``out/OTHER_main/queue/``, from which engines import.

afl-fuzz and the in-process engines remember, for each peer, the next id to import: entries are
stored in the order of their ids.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.base.files import PLACEHOLDER
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.kernel.wire.afl import entry_name, id_of
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.passive import make_passive

SOURCE = "another host, through the hub"
"""Where such entries come from, for users."""


def store_entries(run_dir: RunDir, rows: Iterable[tuple[str, str, bytes]]) -> int:
    """Write entries to passive instances: instance, file name and content of each.

    Each file is written under another name first, so that no engine reads half of it. Ids that are
    left out get an empty file: afl-fuzz looks for exactly the id after the last imported one.
    Raises OSError.
    """
    queues: dict[str, GaplessQueue] = {}
    stored = 0
    for instance, name, data in rows:
        if instance not in queues:
            make_passive(run_dir.instance(instance), SOURCE)
            queues[instance] = GaplessQueue(run_dir.instance(instance))
        queues[instance].store(name, data)
        stored += 1
    return stored


class GaplessQueue:
    """The queue of a directory, whose entries come from elsewhere, in the order of their ids."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._queue = directory / "queue"
        self._queue.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._next = highest_id(self._queue) + 1
        self._gaps = sum(PLACEHOLDER in name for name in os.listdir(self._queue))  # noqa: PTH208

    def store(self, name: str, data: bytes, most: int = LARGEST) -> int:
        """Write an entry, and empty files for the ids that were left out.

        Returns the number of empty files. Raises OSError, and ProtocolError if there would be more
        than ``most`` of them: a name of ten bytes must not cost a hundred thousand files.
        """
        number = id_of(name)
        gaps = range(self._next, number)
        if self._gaps + len(gaps) > most:
            raise ProtocolError(f"it leaves out {len(gaps):,} ids, more than there can be")
        for gap in gaps:
            replace_bytes(self._placeholder(gap), b"", self._directory)
        self._gaps += len(gaps)
        replace_bytes(self._queue / name, data, self._directory)
        if 0 <= number < self._next:  # two files of one id: afl-fuzz would count wrong
            self._placeholder(number).unlink(missing_ok=True)
        self._next = max(self._next, number + 1)
        return len(gaps)

    def _placeholder(self, number: int) -> Path:
        return self._queue / entry_name(number, PLACEHOLDER.lstrip(","))


def highest_ids(run_dir: RunDir, instances: Iterable[str]) -> dict[str, int]:
    """Return the highest id that is stored of each instance; -1: none."""
    return {name: highest_id(run_dir.instance(name) / "queue") for name in instances}


def highest_id(queue: Path) -> int:
    """Return the highest id in a queue; -1: none."""
    try:
        names = os.listdir(queue)  # noqa: PTH208 - names only
    except OSError:
        names = []
    return max(map(id_of, names), default=-1)
