"""Queue entries of other hosts, in this run: ``out/OTHER_main/queue/``, from which engines import.

afl-fuzz and the in-process engines remember, for each peer, the next id to import: entries are
stored in the order of their ids.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from fuzztui.base.atomic import replace_bytes
from fuzztui.campaign.rundir import RunDir
from fuzztui.engines.directory.sync import PLACEHOLDER
from fuzztui.observe.passive import make_passive
from fuzztui.wire.afl import entry_name

SOURCE = "another host, through the hub"
"""Where such entries come from, for users."""

_MAX_GAP = 100_000
_ID = re.compile(r"id:([0-9]{1,9})\b")


def entry_id(name: str) -> int:
    """Return the number of a queue entry by the name of its file; -1: the name has none."""
    match = _ID.match(name)
    return int(match[1]) if match else -1


def store_entries(run_dir: RunDir, rows: Iterable[tuple[str, str, bytes]]) -> int:
    """Write entries to passive instances: instance, file name and content of each.

    Each first under another name, so that no engine reads half of it. Ids that are left out get an
    empty file: afl-fuzz looks for exactly the id after the last imported one. Raises OSError.
    """
    expected: dict[str, int] = {}
    stored = 0
    for instance, name, data in rows:
        directory = run_dir.instance(instance)
        queue = directory / "queue"
        if instance not in expected:
            make_passive(directory, SOURCE)
            queue.mkdir(mode=0o700, exist_ok=True)
            expected[instance] = highest_ids(run_dir, [instance])[instance] + 1
        number = entry_id(name)
        for gap in range(max(expected[instance], number - _MAX_GAP), number):
            replace_bytes(queue / entry_name(gap, PLACEHOLDER.lstrip(",")), b"", directory)
        replace_bytes(queue / name, data, directory)
        expected[instance] = max(expected[instance], number + 1)
        stored += 1
    return stored


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
