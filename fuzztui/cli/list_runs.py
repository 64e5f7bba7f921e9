"""``runs``: list the runs found here, and those under way elsewhere on this machine."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fuzztui.cli.json_output import print_json
from fuzztui.cli.output import DAMAGED, DONE, UsageError, duration, say, short_path
from fuzztui.cli.progress import Estimate
from fuzztui.kernel.base.text import aligned, several, visible
from fuzztui.run.home.finding import is_run
from fuzztui.run.home.listing import RunList
from fuzztui.run.home.look import RunLook
from fuzztui.run.home.summary import UNREADABLE
from fuzztui.tui.base import format
from fuzztui.tui.base.text import fit
from fuzztui.tui.base.user_state import last_look

SLICE_S = 0.2
"""Seconds of reading one log between two updates of the progress line."""

MAX_READ_S = 20.0
"""Seconds for one log without checkpoints: then its figures are those so far, and the next list
goes on from there."""

MAX_PATH = 200
"""Characters of a path in a table."""

MAX_FAILURES = 3
"""Failed campaigns whose reasons are shown, the newest first; the others are counted."""

BLOCK = 512
"""Bytes of a block in ``st_blocks``."""

FILES = 1000
"""Files between two updates of the progress line."""

NOTE_CELLS = 100
"""Characters of a failed campaign's line; ``status`` and ``--json`` have the whole reason."""


def runs(options: argparse.Namespace) -> int:
    """List runs: a table, or with ``--json`` one object."""
    places = places_of(options.directories)
    listed = RunList(places)
    with closing(listed), Estimate() as progress:
        progress.show_text("searching for runs")
        listed.find()
        read_all(listed, progress)
        sizes = _sizes(listed.looks, progress) if options.size else {}
    looks = listed.looks
    for path, why in listed.found.unread:
        say(f"{path}: not searched: {why}")
    if listed.found.cut:
        say("there are more directories or runs than one list takes; name a directory below")
    if options.json:
        print_json("runs", listed_object(listed, sizes))
    elif looks:
        elsewhere = {look.run for look in looks}.difference(listed.found.runs)
        print("\n".join(table(looks, sizes, elsewhere)))
    else:
        names = ", ".join(short_path(place) for place in places)
        say(f"no runs in {names}, and none under way elsewhere; start one: fuzztui CAMPAIGN.toml")
    for line in notes(looks):
        say(line)
    bad = any(look.summary.damage or look.summary.state == UNREADABLE for look in looks)
    return DAMAGED if bad else DONE


def places_of(given: Sequence[Path]) -> list[Path]:
    """Return the directories to search: the given ones, or ``./runs``. Raises :class:`CliError`."""
    for place in given:
        if not place.is_dir():
            what = "is not a directory" if place.exists() else "there is no such directory"
            raise UsageError(f"{place}: {what}; name directories that contain runs")
    if given:
        return [*given]
    here = Path.cwd()
    if is_run(here):
        return [here]
    return [here / "runs"]  # also if there is none yet: the home screen may start the first run


def read_all(listed: RunList, progress: Estimate) -> None:
    """Read what is left of all logs, each for at most :data:`MAX_READ_S`."""
    looks = listed.looks
    for n, look in enumerate(looks):
        end = time.monotonic() + MAX_READ_S
        progress.show("reading runs", n, len(looks))
        for _ in listed.refresh([look], SLICE_S):
            pass
        while not look.done and time.monotonic() < end:
            at, of = look.progress
            name = short_path(look.run)[-MAX_PATH:]
            progress.show_text(
                f"reading runs: {n} of {len(looks)}: {name}: record {at:,} of {of:,}"
            )
            for _ in listed.refresh([look], SLICE_S):
                pass


def _sizes(looks: Sequence[RunLook], progress: Estimate) -> dict[Path, int]:
    sizes: dict[Path, int] = {}
    for n, look in enumerate(looks):
        progress.show("sizes of runs", n, len(looks))

        def on_files(files: int, at: int = n) -> None:
            progress.show_text(f"sizes of runs: {at} of {len(looks)}, {files:,} files")

        sizes[look.run] = disk_bytes(look.run, on_files)
    return sizes


# ----------------------------------------------------------------------- JSON


def listed_object(listed: RunList, sizes: dict[Path, int]) -> dict[str, Any]:
    """Return the object of ``fuzztui runs --json``."""
    return {
        "runs": [run_object(look, sizes.get(look.run)) for look in listed.looks],
        "problems": [
            f"{look.run}: {look.summary.damage or look.summary.reason}"
            for look in listed.looks
            if look.summary.damage or look.summary.state == UNREADABLE
        ],
        "complete": not listed.found.cut and not listed.found.unread,
    }


def run_object(look: RunLook, size: int | None = None) -> dict[str, Any]:
    """Return one run for ``--json``; unknown values are ``null``."""
    of = look.summary
    return {
        "run": str(look.run),
        "state": of.state,
        "reason": of.reason or look.trouble,
        "name": of.name,
        "engine": of.engine,
        "target": of.target,
        "supervised": look.pid is not None,
        "pid": look.pid if look.pid is not None and look.pid > 0 else None,
        "started": of.started or None,
        "age_s": round(max(0.0, time.time() - of.started), 3) if of.started else None,
        "elapsed_s": of.elapsed_s,
        "execs": _or_none(of.execs),
        "execs_per_sec": _or_none(of.execs_per_sec),
        "score": _or_none(of.score),
        "edges": _or_none(of.edges),
        "edges_total": _or_none(of.edges_total),
        "groups": of.group_count,
        "new_groups": of.new_groups(last_look(look.run)),
        "hosts": [*of.hosts],
        "lost_hosts": [*of.lost],
        "damage": of.damage,
        "at_least": bool(of.damage),
        "unread_records": of.unread,
        **({} if size is None else {"bytes": size}),
    }


def _or_none(figure: float) -> float | None:
    return figure if figure >= 0 else None


# ----------------------------------------------------------------------- text

_TITLES = ("state", "run", "engine", "age", "execs", "exec/s", "score", "edges", "groups")
_RIGHT = frozenset({"age", "execs", "exec/s", "score", "edges", "groups", "size"})


def table(
    looks: Sequence[RunLook], sizes: dict[Path, int], elsewhere: Collection[Path] = ()
) -> list[str]:
    """Return the lines of the table: the runs here, then those of ``elsewhere`` under a heading.

    Texts of runs are made visible.
    """
    titles = [*_TITLES, *(["size"] if sizes else [])]
    order = sorted(looks, key=lambda look: look.run in elsewhere)  # keeps the order in each part
    rows = [titles, *(_row(look, sizes) for look in order)]
    lines = [*aligned(rows, [n for n, title in enumerate(titles) if title in _RIGHT])]
    here = sum(look.run not in elsewhere for look in looks)
    if here < len(looks):
        lines.insert(here + 1, "under way in other directories, by this account:")
    return lines


def _row(look: RunLook, sizes: dict[Path, int]) -> list[str]:
    of = look.summary
    new = of.new_groups(last_look(look.run))
    row = [
        visible(of.state[:20]) or "?",
        visible(short_path(look.run))[:MAX_PATH],
        visible(of.engine[:20]),
        duration(max(0.0, time.time() - of.started)) if of.started else format.NONE,
        format.count(of.execs),
        format.rate(of.execs_per_sec),
        format.score(of.score) if of.score >= 0 else format.NONE,
        format.count(of.edges),
        f"{of.group_count}" + (f" ({new} new)" if new else ""),
    ]
    return [*row, format.size(sizes[look.run])] if sizes else row


def notes(looks: Sequence[RunLook]) -> list[str]:
    """Return what is wrong with runs, a line each; of old failures only the number."""
    lines, failed = [], 0
    for look in looks:
        of = look.summary
        wrong = [
            look.trouble,
            of.damage and f'each number means "at least": {of.damage}',
            of.unread and f"{of.unread:,} records are not read yet; list the runs again",
            look.pid is not None
            and of.lost
            and f"not connected: {several(len(of.lost), 'host')} ({', '.join(of.lost)})",
            of.state == UNREADABLE and of.reason,
        ]
        name = visible(short_path(look.run))[:MAX_PATH]
        problems = "; ".join(visible(str(text)) for text in wrong if text)
        if problems:
            lines.append(f"{name}: {problems[:500]}")
        elif of.reason:
            failed += 1
            if failed <= MAX_FAILURES:
                lines.append(fit(f"{name}: {visible(of.reason)}", NOTE_CELLS).rstrip())
    if failed > MAX_FAILURES:
        more = several(failed - MAX_FAILURES, "earlier run")
        lines.append(f"{more} failed, too; fuzztui status RUN reports why")
    return lines


def disk_bytes(run: Path, on_files: Callable[[int], None] = lambda _: None) -> int:
    """Return the bytes that the files of a run occupy; a file with several names counts once.

    ``on_files`` is called from time to time with the number of files so far. What cannot be read is
    left out.
    """
    total = files = 0
    linked: set[tuple[int, int]] = set()
    waiting = [os.fspath(run)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    files += 1
                    if files % FILES == 0:
                        on_files(files)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif status.st_nlink > 1:
                        name = (status.st_dev, status.st_ino)
                        if name in linked:
                            continue
                        linked.add(name)
                    total += status.st_blocks * BLOCK
        except OSError:
            continue
    return total
