"""``fuzztui events``: the records of the campaign log, as lines of text or JSON."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, UsageError
from fuzztui.cli.runs import find_run, no_records, open_session
from fuzztui.kernel.base import versions
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.hosts import host_of
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import EVENT_KINDS, Record
from fuzztui.run.home.finding import is_run

_POLL_S = 0.2
"""Seconds between two looks for new records."""

_BATCH = 1000
"""Records that are read at once."""


def events(options: argparse.Namespace) -> int:
    """Print the records of a log; with ``--follow`` those to come, until the campaign ends."""
    kinds = _kinds(options.kinds)
    path: Path | None = options.run
    if path is None or not path.is_file() or path.suffix == ".toml":
        path = find_run(path)
    run = path if is_run(path) else None
    if options.follow and run is None:
        raise UsageError(f"{path}: --follow needs a run directory, not a log")
    session = open_session(path)
    reader = session.reader
    session.check()  # damage is reported also if it is before --after
    if not reader.last_seq and not options.follow:
        raise no_records(path, session.problems)
    line = _json if options.json else _text()
    hosts = frozenset(options.hosts)
    known: set[str] = set()
    try:
        for records in _batches(reader, options.after, run if options.follow else None):
            for record in records:
                if (host := host_of(record)) and hosts:
                    known.add(host)
                if (not kinds or record.event.kind in kinds) and (not hosts or host in hosts):
                    print(line(record))
            print(end="", flush=True)
    except (LogError, OSError) as e:
        if isinstance(e, BrokenPipeError):
            raise
        raise CliError(f"the campaign log cannot be read any more: {e}", NOT_RUNNING) from None
    if not options.after:
        _check_hosts(hosts, known)
    return DONE


def _check_hosts(wanted: Collection[str], known: Collection[str]) -> None:
    """Raise :class:`CliError` for the name of a host that no event of the whole log is about."""
    for name in wanted:
        if name not in known:
            hosts = f"the hosts are {', '.join(sorted(known))}" if known else "there are no hosts"
            message = f"--host {name!r} is in no event of this log{meant(near(name, known))}"
            raise UsageError(f"{message}; {hosts}")


def _batches(reader: LogReader, after_seq: int, follow: Path | None) -> Iterator[list[Record]]:
    """Yield the records behind ``after_seq``, and those that come while a run is going on."""
    while True:
        # Before reading: what the supervisor wrote last is then read in the same round.
        is_last = follow is None or running(follow) is None
        reader.refresh()
        while records := reader.batch(after_seq, _BATCH):
            after_seq = records[-1].seq
            yield records
        if is_last:
            return
        time.sleep(_POLL_S)


def _kinds(given: list[str]) -> frozenset[str]:
    """Return the kinds of ``--kind A,B``; empty: all. Raises :class:`CliError`."""
    names = [name for text in given for name in text.split(",") if name]
    for name in names:
        if name not in EVENT_KINDS:
            raise UsageError(
                f"--kind {name!r} is not a kind of event{meant(near(name, EVENT_KINDS))}; "
                f"the kinds are {', '.join(sorted(EVENT_KINDS))}"
            )
    return frozenset(names)


def _json(record: Record) -> str:
    """The line of a record as in the log, with its version first."""
    return f'{{"v":{versions.VERSIONS["events"]},{encode_record(record)[1:]}'


def _text() -> Callable[[Record], str]:
    """Return the function that formats a record as on the Log screen."""
    from fuzztui.tui.base import format
    from fuzztui.tui.labels.events import describe_record

    def line(record: Record) -> str:
        shown = describe_record(record)
        where = f"{shown.instance:<8} " if shown.instance else " " * 9
        head = f"{format.clock(record.t):>12} {record.seq:>8}  {shown.label:<10} {where}"
        return visible(head + shown.text)

    return line
