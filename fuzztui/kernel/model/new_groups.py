"""Which groups of findings are new, to a user or to ``notify.command``.

A group is recognised by its findings, not by its signature: a finding may be reported before it
has been run again, and gets its signature later.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.model.state import Finding, State, StatePart
from fuzztui.kernel.model.verdicts import found_again, verdict_of
from fuzztui.kernel.wire.verdicts import OPEN, REGRESSION


@dataclass(slots=True)
class Notifications(StatePart):
    """What ``notify.command`` has reported."""

    findings: dict[str, float] = field(default_factory=dict)
    """Campaign time of the report by key of a finding."""
    stall_t: float = -1.0
    """Campaign time at which ``notify.command`` last reported a stall; -1: never."""


MAX_NOTIFIED = 100_000
"""Findings that are remembered as reported by ``notify.command``: far more than are saved."""

MAX_WAIT_S = 10.0
"""Seconds of campaign time after which a finding counts as new though it has no description."""


def target_groups(state: State) -> Iterator[list[str]]:
    """Yield the keys of the findings of each group of the target, the first finding first.

    A finding of which only the signal is known is a group of its own. All findings of a category
    without a signature are one group, because their causes are not known yet. Findings of instances
    that fuzz mutants are left out, and groups with a verdict. A regression is a group of the
    findings after the fix only.
    """
    mutants = {i.id for i in list(state.instances.values()) if i.mutant}
    for signature, every in list(state.groups.items()):
        verdict = verdict_of(state, signature)
        if is_by_signal(signature) or verdict not in OPEN:
            continue
        keys = found_again(state, signature) if verdict == REGRESSION else every
        own = [k for k in keys if state.findings[k].instance not in mutants] if mutants else keys
        if own:
            yield own
    unexamined: dict[str, list[str]] = {}
    for f in list(state.findings.values()):
        if f.instance not in mutants and (not f.signature or is_by_signal(f.signature)):
            unexamined.setdefault(f.key if f.signature else f.category, []).append(f.key)
    yield from unexamined.values()


def new_groups(state: State, reported: Container[str], now: float) -> list[Finding]:
    """Return the findings of :func:`unreported` that do not wait for their description."""
    return [f for f in unreported(state, reported) if not waits(f, now)]


def unreported(state: State, reported: Container[str]) -> list[Finding]:
    """Return the first finding of each group with no finding in ``reported``, oldest first.

    ``reported``: keys of findings.
    """
    found = [
        state.findings[keys[0]]
        for keys in target_groups(state)
        if not any(key in reported for key in keys)
    ]
    return sorted(found, key=lambda f: f.seq)


def waits(finding: Finding, now: float) -> bool:
    """Whether a finding waits for its description, at most ``MAX_WAIT_S`` after it was saved.

    The description may put the finding into the group of an earlier one. ``now``: campaign time in
    seconds.
    """
    described = finding.signature or finding.title
    return not described and now - finding.t < MAX_WAIT_S


def groups_after(state: State, seq: int) -> int:
    """Return the number of groups whose first finding was logged after record ``seq``."""
    return sum(state.findings[keys[0]].seq > seq for keys in target_groups(state))
