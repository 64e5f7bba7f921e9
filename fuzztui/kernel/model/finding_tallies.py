"""Groups of findings, and how many findings there are of each kind, also by instance and host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.model.selectors import totals
from fuzztui.kernel.model.state import Finding, Instance, State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire.finding_kinds import (
    CRASHES,
    HANGS,
    KINDS,
    OTHER,
    UNDESCRIBED,
    FindingKind,
    kind_of,
)
from fuzztui.kernel.wire.severity import label, rank
from fuzztui.kernel.wire.verdicts import OPEN, REGRESSION


@dataclass(frozen=True, slots=True)
class Group:
    """Findings with one cause; or one finding that was not examined yet."""

    signature: str
    first: Finding
    findings: tuple[Finding, ...]
    count: int
    """How often the cause was met: as the engines counted, but at least the number of files."""

    @property
    def worst(self) -> Finding:
        """The first of the findings with the highest severity."""
        return max(self.findings, key=lambda finding: rank(finding.severity))


def severity_text(finding: Finding) -> str:
    """Return a finding's severity with its class and reason; empty if it was not decided."""
    if not finding.severity:
        return ""
    name = f", {finding.severity_class}" if finding.severity_class else ""
    return f"{label(finding.severity)}{name}: {finding.severity_reason}"


def is_examined(finding: Finding) -> bool:
    """Whether a finding was run again: without that its cause, so its group, is not known."""
    return bool(finding.signature) and not is_by_signal(finding.signature)


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
    """Groups with a known cause: those of :func:`groups` that were examined."""
    files: int = 0
    last_t: float = -1.0
    """Campaign time of the last finding of the kind, in seconds; -1: none yet."""
    by: Mapping[str, int] = field(default_factory=dict)
    """Number of files that the log names, by instance."""
    judged: int = 0
    """How many of ``groups`` have a user's verdict and are no regressions."""
    regressions: int = 0
    """How many of ``groups`` were found again after a user had marked them as fixed."""
    groups_by: Mapping[str, int] = field(default_factory=dict)
    """Number of groups of which an instance has a file, by instance; a group counts for each of its
    instances."""
    groups_on: Mapping[str, int] = field(default_factory=dict)
    """Number of groups by host, counted in the same way, in a campaign on several machines."""
    unexamined: int = 0
    """How many of ``files`` were not run again yet, so that their group is unknown."""

    @property
    def open(self) -> int:
        """The number of groups that a user should look at: new ones and regressions."""
        return self.groups - self.judged


def tallies(state: State) -> dict[str, FindingTally]:
    """Count the findings by category; ``OTHER`` is left out if there are none.

    Engines count files by folder, so their crashes include differences, which are subtracted here.
    Files that an engine has counted and that the log does not name yet are in ``files`` only.
    """
    mutants = {i.id for i in state.instances.values() if i.mutant}
    count, judged, again, unexamined = (dict.fromkeys(KINDS, 0) for _ in range(4))
    last = dict.fromkeys(KINDS, -1.0)
    by: dict[FindingKind, Counter[str]] = {kind: Counter() for kind in KINDS}
    groups_by: dict[FindingKind, Counter[str]] = {kind: Counter() for kind in KINDS}
    hosts = {i.id: i.host for i in list(state.instances.values()) if i.host}
    groups_on: dict[FindingKind, Counter[str]] = {kind: Counter() for kind in KINDS}
    seen: set[tuple[str, ...]] = set()
    for f in state.findings.values():
        if f.instance in mutants:
            continue
        kind = kind_of(f.category)
        by[kind][f.instance] += 1
        last[kind] = max(last[kind], f.t)
        if not is_examined(f):
            unexamined[kind] += 1
            continue
        host = hosts.get(f.instance, "")
        by_instance, on_host = (f.signature, "by", f.instance), (f.signature, "on", host)
        groups_by[kind][f.instance] += by_instance not in seen
        if host:
            groups_on[kind][host] += on_host not in seen
        if (f.signature,) not in seen:
            count[kind] += 1
            verdict = verdict_of(state, f.signature)
            judged[kind] += verdict not in OPEN
            again[kind] += verdict == REGRESSION
        seen.update([(f.signature,), by_instance, on_host])
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
            unexamined[kind],
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
    """How many groups of a kind an instance has met; comparable with the number of the campaign.

    If the instance fuzzes a mutant, or there is no group of the kind yet, its files are counted.
    """
    tally = found.get(kind.category)
    if instance.mutant or tally is None or not tally.groups:
        return files_of(kind, instance, found)
    # Files that were not examined have at least one cause.
    return tally.groups_by.get(instance.id, 0) or min(1, tally.by.get(instance.id, 0))


def group_heads(state: State, kind: FindingKind) -> list[float]:
    """When each group of a kind was first met, in order: campaign times in seconds.

    As long as no finding is examined, as in a watched campaign, each file counts as a group.
    """
    mutants = {i.id for i in state.instances.values() if i.mutant}
    own = [f for f in state.findings.values() if f.instance not in mutants]
    own = [f for f in own if kind_of(f.category) is kind]
    return sorted(f.t for f in [f for f in own if f.first and is_examined(f)] or own)


def _met(rows: tuple[Finding, ...]) -> int:
    """How often a group was met: the sum of each instance's highest count, as each counts alone."""
    best: dict[str, int] = {}
    for row in rows:
        best[row.instance] = max(best.get(row.instance, 0), row.count)
    return sum(best.values())
