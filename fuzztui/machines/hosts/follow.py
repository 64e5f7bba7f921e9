"""Send the log of a host's run, and the files that it names, to a hub."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.engines.directory.rescue import UNSAFE
from fuzztui.kernel.base.bounds import real
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import Record
from fuzztui.machines.hosts.protocol import (
    MAX_BATCH,
    MAX_FILE,
    file_name,
    folder_name,
    instance_name,
    number,
    to_text,
)
from fuzztui.run.campaign.rundir import RunDir

FOLLOW_S: Final = 0.04
"""Seconds between two looks at the log."""

GATHERED_S: Final = 0.5
"""Seconds for which records without urgency are gathered: each message costs the hub as much
as some records, and a hub has many hosts. A record of :data:`URGENT` is sent at once, with what
waits before it."""

MAX_GATHERED_S: Final = 30.0

URGENT: Final = (
    ev.CampaignEnded,
    ev.CampaignStarted,
    ev.CampaignState,
    ev.CommandApplied,
    ev.CommandIssued,
    ev.CommandProgress,
    ev.CommandRejected,
    ev.EntrySaved,
    ev.FindingDescribed,
    ev.FindingSaved,
    ev.InstanceHello,
    ev.InstanceState,
    ev.Message,
    ev.MutantProgress,
    ev.MutantState,
    ev.PhaseStarted,
    ev.SupervisorStarted,
)
"""Events that users, commands or other hosts wait for."""

STATISTICS: Final = (
    ev.Stats,
    ev.Resources,
    ev.Synced,
    ev.MutationStats,
    ev.MutatorStats,
    ev.TargetingStats,
)

RECORDS: Final = 500
"""Records in one message."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a hub wants, by the keys of its message."""

    queues: frozenset[str]
    """Instances whose entries the hub wants."""
    outside: tuple[str, ...]
    """Starts of the names of other hosts' instances: entries that were imported from these are not
    wanted. An entry imported from another instance of this host is a find of this host."""
    crashes: bool
    """Whether the hub wants the inputs of findings."""
    gathered: float
    """Seconds for which records are gathered. If they are more than :data:`GATHERED_S`, of the
    statistics only the last of each instance is sent: they are cumulative, and this log has all."""


async def follow(
    run_dir: RunDir,
    body: Mapping[str, Any],
    send: Callable[[str, dict[str, Any]], Awaitable[None]],
) -> None:
    """Send the records after ``after``, and then each new one, with files that they name."""
    after, names, outside = number(body, "after"), body.get("queues", []), body.get("outside", [])
    if not isinstance(names, list) or not isinstance(outside, list):
        raise ProtocolError("queues or outside is no list")
    wanted = Wanted(
        frozenset(map(instance_name, names)),
        tuple(map(str, outside)),
        crashes=body.get("crashes") is True,
        gathered=min(real(body.get("gathered"), GATHERED_S), MAX_GATHERED_S),
    )
    reader: LogReader | None = None
    lists: dict[str, int] = {}
    since = time.monotonic()
    while True:
        try:
            if reader is None:
                reader = await asyncio.to_thread(LogReader, run_dir.path)
            reader.refresh()
            records = reader.batch(after, RECORDS)
        except (LogError, OSError):  # no log yet, or a disk that does not answer
            reader, records = None, []
        now = time.monotonic()
        if not records:
            since = now
        elif now - since < wanted.gathered and not any(
            isinstance(r.event, URGENT) for r in records
        ):
            await asyncio.sleep(FOLLOW_S)
            continue
        since = now
        sent = latest(records) if wanted.gathered > GATHERED_S else records
        for lines, files, last in _batches(run_dir, sent, wanted):
            await send("records", {"lines": lines, "files": files, "last": last})
            after = last
        if unsafe := _unsafe(run_dir, wanted.queues, lists):
            await send("records", {"lines": [], "files": unsafe, "last": after})
        if len(records) < RECORDS:
            await asyncio.sleep(FOLLOW_S)


def latest(records: Iterable[Record]) -> list[Record]:
    """Return the records without statistics that a later one of the same instance replaces."""
    kept: list[Record] = []
    seen: set[tuple[type, str]] = set()
    for record in reversed([*records]):
        if isinstance(record.event, STATISTICS):
            key = (type(record.event), str(getattr(record.event, "instance", "")))
            if key in seen:
                continue
            seen.add(key)
        kept.append(record)
    return kept[::-1]


def _batches(
    run_dir: RunDir, records: Iterable[Record], wanted: Wanted
) -> Iterable[tuple[list[str], list[dict[str, str]], int]]:
    lines: list[str] = []
    files: list[dict[str, str]] = []
    size = last = 0
    for record in records:
        line, file = encode_record(record), _file_of(run_dir, record, wanted)
        if file is not None:
            files.append(file)
            size += len(file["data"])
        lines.append(line)
        size += len(line)
        last = record.seq
        if size >= MAX_BATCH:
            yield lines, files, last
            lines, files, size = [], [], 0
    if lines:
        yield lines, files, last


def _file_of(run_dir: RunDir, record: Record, wanted: Wanted) -> dict[str, str] | None:
    """The file that a record names, if the hub wants it and it still exists."""
    event = record.event
    match event:
        case ev.EntrySaved(instance=instance, sync=sync) if instance in wanted.queues:
            if sync and sync.startswith(wanted.outside):
                return None  # the hub has it from there
        case ev.FindingSaved(instance=instance) if wanted.crashes:
            pass
        case _:
            return None
    folder, _, name = event.file.rpartition("/")
    with contextlib.suppress(OSError, ProtocolError, ValueError):
        path = run_dir.instance(instance_name(instance)) / folder_name(folder)
        data = read_regular(path / file_name(name), MAX_FILE + 1)
        if len(data) <= MAX_FILE:
            return {"path": f"{instance}/{folder}/{name}", "data": to_text(data)}
    return None


def _unsafe(run_dir: RunDir, queues: frozenset[str], lists: dict[str, int]) -> list[dict[str, str]]:
    """The lists of inputs that have killed a worker, if they have changed since."""
    changed = []
    for name in queues:
        path = run_dir.instance(name) / UNSAFE
        with contextlib.suppress(OSError):
            at = path.lstat().st_mtime_ns
            if lists.get(name) != at:
                lists[name] = at
                data = read_regular(path, MAX_FILE)
                changed.append({"path": f"{name}/{UNSAFE}", "data": to_text(data)})
    return changed
