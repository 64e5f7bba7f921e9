"""Queue entries of other hosts, in this run: ``out/OTHER_main/queue/``, from which engines import.

afl-fuzz and the in-process engines remember, for each peer, the next id to import: entries are
stored in the order of their ids.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from fuzztui.base.atomic import replace_bytes
from fuzztui.campaign.rundir import RunDir

_ID = re.compile(r"id:([0-9]{1,9})\b")


def entry_id(name: str) -> int:
    """Return the number of a queue entry by the name of its file; -1: the name has none."""
    match = _ID.match(name)
    return int(match[1]) if match else -1


def store_entry(run_dir: RunDir, instance: str, name: str, data: bytes) -> Path:
    """Write an entry: first under another name, so that no engine reads half of it.

    Raises OSError.
    """
    queue = run_dir.instance(instance) / "queue"
    queue.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = queue / name
    replace_bytes(path, data, queue.parent)
    return path


def highest_ids(run_dir: RunDir, instances: Iterable[str]) -> dict[str, int]:
    """Return the highest id that is stored of each instance; -1: none."""
    found = {}
    for instance in instances:
        try:
            names = os.listdir(run_dir.instance(instance) / "queue")  # noqa: PTH208 - names only
        except OSError:
            names = []
        found[instance] = max(map(entry_id, names), default=-1)
    return found
