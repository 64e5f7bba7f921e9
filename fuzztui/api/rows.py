"""The rows of a run for scripts: findings, entries, mutants, series. Copies of what the fold has.

The rows of the fold may get other fields; these only get more. Texts may be of the target: print
them with ``repr``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from fuzztui.kernel.model.finding_tallies import Group, groups
from fuzztui.kernel.model.mutants import knowledge, outcome
from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.tui.labels.run_files import place_of, settled


@dataclass(frozen=True, slots=True)
class RunFinding:
    """A group of findings with one signature; an undescribed finding is a group of its own.

    ``key``: of the first finding, ``INSTANCE/crashes/NAME``, which steering takes; ``found_s``: its
    campaign time. ``kind``: crash, hang, differs or other. Unknown texts are "". ``count``: how
    often the cause was met, at least. ``paths``: the inputs on this machine, the first one first.
    """

    key: str
    kind: str
    title: str
    place: str
    signature: str
    verdict: str
    severity: str
    found_s: float
    count: int
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A corpus entry. ``key``: ``INSTANCE/ID``. ``path``: its file; None: of another machine.

    ``size``: bytes; ``edges``: how many the input covers; -1: the log does not say. ``kills``: how
    many mutants it was the first to kill. ``mutator``: how it was made; "": a seed, or unknown.
    ``is_new``: whether it covered an edge that was new to its instance.
    """

    key: str
    path: Path | None
    found_s: float
    size: int
    edges: int
    kills: int
    mutator: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class RunMutant:
    """A mutant. ``state``: as ``mutants list`` prints it: alive, killed, pending and others.

    ``killer``: the entry that killed it; "": none. ``oracle``: how. ``killed_s``: campaign time;
    -1: not killed. ``line``: -1: unknown. ``accepted``: a user accepts that it survives.
    """

    id: str
    state: str
    file: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    killer: str
    oracle: str
    killed_s: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class RunSeries:
    """A figure over campaign time: ``values[n]`` holds from ``times[n]`` (seconds) on."""

    times: tuple[float, ...]
    values: tuple[float, ...]


def finding_rows(state: State, run: Path | None) -> Iterator[RunFinding]:
    """Yield the groups of findings, in the order of ``status --json``."""
    for group in groups(state):
        yield _finding(group, state, run)


def _finding(group: Group, state: State, run: Path | None) -> RunFinding:
    first = group.first
    every = (first, *(f for f in group.findings if f is not first))
    return RunFinding(
        first.key,
        first.category,
        first.title,
        first.place,
        group.signature,
        verdict_of(state, group.signature),
        group.worst.severity,
        first.t,
        group.count,
        tuple(path for f in every if (path := _path(f, state, run)) is not None),
    )


def entry_rows(state: State, run: Path | None) -> Iterator[RunEntry]:
    """Yield the corpus entries, in the order in which the log names them."""
    for e in state.entries.values():
        made, path = "" if e.is_seed else e.op, _path(e, state, run)
        yield RunEntry(e.key, path, e.t, e.size, e.edges, e.kills, made, e.is_new)


def mutant_rows(state: State) -> Iterator[RunMutant]:
    """Yield the mutants."""
    known = knowledge(state)
    for m in state.mutants.values():
        how = outcome(m, known)
        code = (m.file, m.line, m.function, m.operator, m.before, m.after)
        yield RunMutant(m.id, how, *code, m.killer, m.oracle, m.killed_t, m.accepted)


def series_rows(state: State) -> dict[str, RunSeries]:
    """Return the series by name: execs, corpus, edges and others."""
    return {name: RunSeries((*s.times,), (*s.values,)) for name, s in state.series.items()}


def _path(row: Entry | Finding, state: State, run: Path | None) -> Path | None:
    place = place_of(row, state, run)
    if place is None or not Path(normpath(place.path)).is_relative_to(normpath(place.root)):
        return None  # a log can contain any name
    return settled(place).path if isinstance(row, Finding) else place.path
