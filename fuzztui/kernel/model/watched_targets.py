"""The targets of watched instances, with the sums over their instances.

Instances of one sync directory have one target, whatever their binaries are, because they exchange
their entries. Sync directories whose instances run the same program have one target, too.
"""

from __future__ import annotations

import getopt
import posixpath
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from fuzztui.kernel.base.text import several, short_labels
from fuzztui.kernel.model.selectors import known_rate, known_total, own_time
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.afl import OPTIONS


@dataclass(frozen=True, slots=True)
class WatchedTarget:
    """One target; -1: unknown, an empty string, too."""

    name: str
    """The name of the program, or of the sync directory; unique."""
    program: str
    directories: tuple[str, ...]
    """The sync directories of the instances."""
    command_line: str
    """The command line of one instance, the one with ``-M`` if there is one."""
    instances: tuple[str, ...]
    running: int
    execs: int
    execs_per_sec: float
    lifetime_execs_per_sec: float
    """Executions per second over all the time that each instance has run."""
    corpus: int
    edges: int
    """The most edges of an instance with the binary of ``command_line``: others have other maps."""
    edges_total: int
    crashes: int
    hangs: int
    """Saved files, as AFL counts."""
    last_find_s: float
    """Campaign time of the last entry that was not imported, in seconds."""


@dataclass(frozen=True, slots=True)
class _Start:
    """What the command line of an instance contains."""

    queue: str
    """The sync directory; of an instance that shares its queue with no other, its own one."""
    program: str
    is_main: bool
    command: str = ""
    """The program with its arguments: one interpreter runs several targets."""


def watched_targets(state: State) -> list[WatchedTarget]:
    """Return the targets in the order of their first instances; empty if nothing is watched."""
    groups: list[tuple[set[str], list[tuple[_Start, Instance]]]] = []
    for i in list(state.instances.values()):
        if not i.directory or i.mutant:  # the instances of turns have directories, too
            continue
        start = _start(i.command_line, i.directory)
        # A program's relative path may be another program's, too.
        keys = {start.queue, *([start.command] if posixpath.isabs(start.program) else [])}
        same = [group for group in groups if group[0] & keys]
        at = groups.index(same[0]) if same else len(groups)
        groups = [group for group in groups if group not in same]
        pairs = [*(pair for _, those in same for pair in those), (start, i)]
        groups.insert(at, (keys.union(*(more for more, _ in same)), pairs))
    heads = [next((pair for pair in of if pair[0].is_main), of[0]) for _, of in groups]
    labels = short_labels([_path(start) for start, _ in heads])
    return [
        _summary(state, labels[_path(head[0])], head, of)
        for head, (_, of) in zip(heads, groups, strict=True)
    ]


def _path(start: _Start) -> str:
    """A path that no other target has and that ends with the name of the program."""
    if not start.program or posixpath.isabs(start.program):
        return start.program or start.queue
    return f"{start.queue}/{posixpath.basename(start.program)}"


def _summary(
    state: State, name: str, head: tuple[_Start, Instance], of: list[tuple[_Start, Instance]]
) -> WatchedTarget:
    every = [i for _, i in of]
    alike = [i for start, i in of if start.program == head[0].program]
    edges = max(i.stats.edges for i in alike)
    ran = ((i, own_time(i, state.t)) for i in every)
    return WatchedTarget(
        name=name,
        program=head[0].program,
        directories=tuple(dict.fromkeys(start.queue for start, _ in of)),
        command_line=head[1].command_line,
        instances=tuple(i.id for i in every),
        running=sum(i.state == "running" for i in every),
        execs=sum(i.stats.execs for i in every),
        execs_per_sec=known_rate([i.execs_per_sec for i in every]),
        lifetime_execs_per_sec=known_rate(
            [round(i.stats.execs / t, 2) if t > 0 else -1.0 for i, t in ran]
        ),
        corpus=sum(i.corpus for i in every),
        edges=edges,
        edges_total=known_total(edges, max(i.stats.edges_total for i in alike)),
        crashes=sum(i.crashes for i in every),
        hangs=sum(i.hangs for i in every),
        last_find_s=max(i.last_find_t for i in every),
    )


@lru_cache(maxsize=4096)
def _start(command_line: str, directory: str) -> _Start:
    """Read a command line as AFL writes it, without quotes. ``directory``: the instance's."""
    try:
        words = command_line.split()
        end = words.index("--") if "--" in words else len(words)
        given, command = getopt.getopt(words[1:], OPTIONS)
        command = words[end + 1 :] or command  # a path with a space ends the options too early
        given += [(word, "") for word in words[1:end] if word in ("-M", "-S")]
    except getopt.GetoptError:  # an option of a newer afl-fuzz
        return _Start(posixpath.dirname(directory), "", False)
    options, program = dict(given), command[0] if command else ""
    out = posixpath.dirname(directory)
    if "/" in program and not posixpath.isabs(program):
        # afl-fuzz was started in the directory in which "-o" is the sync directory.
        tail = posixpath.normpath(options.get("-o", ""))
        if not tail.startswith(("..", "/")) and out.endswith(f"/{tail}"):
            program = posixpath.normpath(posixpath.join(out[: -len(tail)], program))
    shares = not command_line or "-M" in options or "-S" in options
    whole = " ".join([program, *command[1:]])
    return _Start(out if shares else directory, program, "-M" in options, whole)


def target_counts(of: WatchedTarget) -> str:
    """Return edges, entries and findings as text."""
    edges, total = of.edges, of.edges_total
    parts = [f"{edges:,} of {total:,} edges ({edges / total:.1%})"] if total > 0 else []
    parts = parts or ([several(edges, "edge")] if edges >= 0 else [])
    parts += [several(of.corpus, "entry", "entries")]
    parts += [several(of.crashes, "crash", "crashes"), several(of.hangs, "hang")]
    return ", ".join(parts)


def machine_text(load: float, cores: int, disk_free: int) -> str:
    """Return load and free disk as text; of each -1: unknown, which is left out."""
    parts = [f"load {load:.2f} on {several(cores, 'core')}"] if load >= 0 else []
    parts += [f"{disk_free / (1 << 30):,.1f} GiB free"] if disk_free >= 0 else []
    return ", ".join(parts)


def targets_list(state: State) -> list[dict[str, Any]]:
    """Return the targets as ``fuzztui status --json`` has them; ``None``: unknown."""
    rows = map(asdict, watched_targets(state))
    return [{key: None if v in (-1, "") else v for key, v in row.items()} for row in rows]
