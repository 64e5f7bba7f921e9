"""Groups of findings, and how many findings there are of each kind, also by instance and host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from fuzztui.base.signals import is_by_signal
from fuzztui.model.selectors import totals
from fuzztui.model.state import Finding, Instance, State
from fuzztui.model.verdicts import verdict_of
from fuzztui.wire.finding_kinds import (
    CRASHES,
    HANGS,
    KINDS,
    OTHER,
    UNDESCRIBED,
    FindingKind,
    kind_of,
)
from fuzztui.wire.verdicts import OPEN, REGRESSION


@dataclass(frozen=True, slots=True)
class Group:
    """Findings with one cause. An undescribed finding is a group of its own."""

    signature: str
    first: Finding
    findings: tuple[Finding, ...]
    count: int
    """How often it was seen: what the engine counted, at least the number of files."""


def groups(state: State) -> list[Group]:
    """All findings by signature, in the order of each group's first finding."""
    found = []
    for signature, keys in state.groups.items():
        rows = tuple(state.findings[k] for k in keys)
        found.append(Group(signature, rows[0], rows, max(len(rows), _met(rows))))
    found += [Group("", f, (f,), 1) for f in state.findings.values() if not f.signature]
    found.sort(key=lambda g: g.first.seq)
    return found


@dataclass(frozen=True, slots=True)
class FindingTally:
    """Findings of one kind of the target, not of its mutants."""

    groups: int = 0
    """Rows of :func:`groups`; findings that were not run again count one by one."""
    files: int = 0
    last_t: float = -1.0
    """Campaign time of the last one; -1: none yet."""
    by: Mapping[str, int] = field(default_factory=dict)
    """Files that the log names, by their instance."""
    judged: int = 0
    """Those of ``groups`` with a verdict of a user, without regressions."""
    regressions: int = 0
    """Those of ``groups`` that were marked as fixed before."""
    groups_by: Mapping[str, int] = field(default_factory=dict)
    """Groups of which an instance has a file, by instance; one group can be of several."""
    groups_on: Mapping[str, int] = field(default_factory=dict)
    """The same by host, for a campaign on several machines."""

    @property
    def open(self) -> int:
        """The number of groups that a user should look at: new ones and regressions."""
        return self.groups - self.judged


def tallies(state: State) -> dict[str, FindingTally]:
    """How many findings there are, by category; ``OTHER`` only if there are any.

    Engines count files by folder: differences are among their crashes. Files that an engine has
    counted and that the log does not name yet are in ``files`` only.
    """
    mutants = {i.id for i in state.instances.values() if i.mutant}
    count, judged, again = (dict.fromkeys(KINDS, 0) for _ in range(3))
    last = dict.fromkeys(KINDS, -1.0)
    by: dict[FindingKind, Counter[str]] = {kind: Counter() for kind in KINDS}
    groups_by: dict[FindingKind, Counter[str]] = {kind: Counter() for kind in KINDS}
    hosts = {i.id: i.host for i in list(state.instances.values()) if i.host}
    groups_on: dict[FindingKind, Counter[str]] = {kind: Counter() for kind in KINDS}
    seen: set[str] = set()
    seen_by: set[tuple[str, str]] = set()
    seen_on: set[tuple[str, str]] = set()
    for f in state.findings.values():
        if f.instance in mutants:
            continue
        kind = kind_of(f.category)
        by[kind][f.instance] += 1
        last[kind] = max(last[kind], f.t)
        if (f.signature, f.instance) not in seen_by:
            groups_by[kind][f.instance] += 1
            if f.signature and not is_by_signal(f.signature):
                seen_by.add((f.signature, f.instance))
            on = f.signature, hosts.get(f.instance, "")
            if on[1] and on not in seen_on:
                groups_on[kind][on[1]] += 1
                if f.signature and not is_by_signal(f.signature):
                    seen_on.add(on)
        if f.signature not in seen:
            count[kind] += 1
            verdict = verdict_of(state, f.signature)
            judged[kind] += verdict not in OPEN
            again[kind] += verdict == REGRESSION
            if f.signature and not is_by_signal(f.signature):
                seen.add(f.signature)
    files = {kind: of.total() for kind, of in by.items()}
    counted = totals(state)
    for folder, n in ((CRASHES, counted.stats.crashes), (HANGS, counted.stats.hangs)):
        kind = UNDESCRIBED[folder]
        others = sum(files[k] for k in KINDS if k.folder == folder and k is not kind)
        files[kind] = max(files[kind], n - others)
    return {
        kind.category: FindingTally(
            count[kind],
            files[kind],
            last[kind],
            by[kind],
            judged[kind],
            again[kind],
            groups_by[kind],
            groups_on[kind],
        )
        for kind in KINDS
        if files[kind] or kind is not OTHER
    }


def listed(found: Mapping[str, FindingTally]) -> list[tuple[FindingKind, FindingTally]]:
    """The kinds whose numbers are shown: crashes and hangs, and others that were found."""
    rows = [(kind, found.get(kind.category, FindingTally())) for kind in KINDS]
    return [(kind, of) for kind, of in rows if of.files or kind.default]


def files_of(kind: FindingKind, instance: Instance, found: Mapping[str, FindingTally]) -> int:
    """Files of a kind that an instance has saved. ``found``: :func:`tallies` of the state."""

    def named(k: FindingKind) -> int:
        return found[k.category].by.get(instance.id, 0) if k.category in found else 0

    if not kind.default:
        return named(kind)
    counted = instance.hangs if kind.folder == HANGS else instance.crashes
    return max(0, counted - sum(named(k) for k in KINDS if k.folder == kind.folder and k != kind))


def groups_of(kind: FindingKind, instance: Instance, found: Mapping[str, FindingTally]) -> int:
    """Groups of a kind that an instance has met: comparable with the campaign's number of groups.

    Of an instance that fuzzes a mutant, and while the log names no file, the files are counted.
    """
    tally = found.get(kind.category)
    if instance.mutant or tally is None or not tally.groups:
        return files_of(kind, instance, found)
    return tally.groups_by.get(instance.id, 0)


def group_heads(state: State, kind: FindingKind) -> list[float]:
    """When each group of a kind was first met, in order: campaign times in seconds."""
    mutants = {i.id for i in state.instances.values() if i.mutant}
    return sorted(
        f.t
        for f in state.findings.values()
        if kind_of(f.category) is kind
        and f.instance not in mutants
        and (f.first or is_by_signal(f.signature))
    )


def _met(rows: tuple[Finding, ...]) -> int:
    """Each instance counts for itself: the sum of the highest count of each."""
    best: dict[str, int] = {}
    for row in rows:
        best[row.instance] = max(best.get(row.instance, 0), row.count)
    return sum(best.values())
