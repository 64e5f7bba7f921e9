"""Which rows a batch of records has changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Changes:
    """The rows that a batch of records touched, so that a screen repaints only these."""

    campaign: bool = False
    """Whether name, state, budget or totals have changed."""
    instances: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    mutants: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()
    source: bool = False
    """Whether source files of the target, or their coverage, have changed."""
    records: int = 0
    """The number of records in the batch."""
    reset: bool = False
    """Whether anything may have changed (the first batch, a seek)."""

    def __or__(self, later: Changes) -> Changes:
        """The rows that this batch or a later one touched."""
        return Changes(
            campaign=self.campaign or later.campaign,
            instances=_union(self.instances, later.instances),
            entries=_union(self.entries, later.entries),
            findings=_union(self.findings, later.findings),
            mutants=_union(self.mutants, later.mutants),
            commands=_union(self.commands, later.commands),
            source=self.source or later.source,
            records=self.records + later.records,
            reset=self.reset or later.reset,
        )


def _union(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    # One set is nearly always empty; a union would copy the other one, however large.
    return one | other if one and other else one or other
