"""A user's verdicts about groups of findings: their fold, and what they mean for a group.

Signatures of Python's exceptions contain a line number, which an edit of the file changes. So a
verdict also holds for a group with another line number, if there is no doubt which one is meant.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.mutants import accept
from fuzztui.kernel.model.state import FindingVerdict, State
from fuzztui.kernel.wire.events import SupervisorStarted, VerdictsChanged
from fuzztui.kernel.wire.verdicts import FIXED, MAX_NAME, MAX_NOTE, NEW, REGRESSION, VERDICTS

MAX_VERDICTS = 100_000
"""Verdicts that are kept; later ones are ignored."""


_LINE = re.compile(r":\d+(?= in )")


def unnumbered(signature: str) -> str:
    """Return a signature without the line number: ``ValueError @ crate.py in unpack``."""
    return _LINE.sub("", signature)


def index_verdicts(state: State) -> None:
    """Make ``state.unnumbered_verdicts`` from ``state.verdicts``."""
    state.unnumbered_verdicts = {}
    for signature in state.verdicts:
        state.unnumbered_verdicts.setdefault(unnumbered(signature), []).append(signature)


def verdicts_changed(state: State, e: VerdictsChanged, touched: ChangesBuilder) -> None:
    """Fold new, changed and removed verdicts."""
    for row in e.mutants:
        accept(state, row, touched)
    for row in e.findings:
        signature = _text(row, "signature", MAX_NAME)
        verdict = FindingVerdict(
            signature,
            _text(row, "verdict", MAX_NAME),
            _text(row, "note", MAX_NOTE),
            _text(row, "author", MAX_NAME),
            _text(row, "date", MAX_NAME),
        )
        known = state.verdicts.get(signature)
        place = unnumbered(signature)
        if verdict.verdict not in VERDICTS:
            if state.verdicts.pop(signature, None) is not None:
                remove_unnumbered(state.unnumbered_verdicts, place, signature)
        elif known is not None and known.verdict == verdict.verdict:  # another note
            state.verdicts[signature] = replace(verdict, start_seq=known.start_seq)
        elif known is not None or len(state.verdicts) < MAX_VERDICTS:
            state.verdicts[signature] = verdict
            if known is None:
                state.unnumbered_verdicts.setdefault(place, []).append(signature)
        for other in (*state.unnumbered_groups.get(place, ()), *state.regrouped.get(signature, ())):
            touched.findings.update(state.groups[other])
    touched.campaign = True


def remove_unnumbered(index: dict[str, list[str]], place: str, signature: str) -> None:
    """Remove a signature from an index; a place without signatures goes too."""
    index[place].remove(signature)
    if not index[place]:
        del index[place]


def _text(row: dict[str, Any], name: str, most: int) -> str:
    value = row.get(name)
    return value[:most] if isinstance(value, str) else ""


def engines_started(state: State, e: SupervisorStarted, touched: ChangesBuilder) -> None:
    """Note that engines start with the present code: a fix failed if its group is found again."""
    if e.adopted:
        return
    for signature, verdict in state.verdicts.items():
        if verdict.verdict == FIXED and not verdict.start_seq:
            state.verdicts[signature] = replace(verdict, start_seq=state.seq)


def given_about(state: State, signature: str) -> FindingVerdict | None:
    """Return the verdict that a user has given about a group; None if there is none.

    A verdict about another line of the same function holds if this run has no group of that line,
    and if there are at least as many such verdicts as groups to which they could apply. A group
    that rules about frames have changed keeps its verdict if there is no doubt
    (:func:`_given_without_rules`). A signal alone has no verdict: it may have many causes.
    """
    if not state.verdicts or not signature or is_by_signal(signature):
        return None
    if exact := state.verdicts.get(signature):
        return exact
    if without_rules := _given_without_rules(state, signature):
        return without_rules
    place = unnumbered(signature)
    moved = [s for s in state.unnumbered_verdicts.get(place, ()) if s not in state.groups]
    if not moved or len({state.verdicts[s].verdict for s in moved}) > 1:
        return None
    without = sum(s not in state.verdicts for s in state.unnumbered_groups.get(place, ()))
    return state.verdicts[moved[0]] if without <= len(moved) else None


def _given_without_rules(state: State, signature: str) -> FindingVerdict | None:
    """Return the verdict about the findings of a group as they are grouped without rules.

    None if not all of these groups have the same verdict, or if the rules have moved findings of
    one of them into another group: the verdict may have been about those.
    """
    plain = state.plain_signatures.get(signature, ())
    given = [state.verdicts.get(name) for name in plain]
    if not given or any(len(state.regrouped[name]) > 1 for name in plain):
        return None
    first = given[0]
    if first is None or any(v is None or v.verdict != first.verdict for v in given):
        return None
    return first


def verdict_of(state: State, signature: str) -> str:
    """Return a group's verdict: "new" if there is none, "regression" if found again after a fix."""
    given = given_about(state, signature)
    if given is None:
        return NEW
    return REGRESSION if found_again(state, signature) else given.verdict


def found_again(state: State, signature: str) -> list[str]:
    """Return the keys of the findings that make a group a regression; empty if it is none."""
    given = given_about(state, signature)
    if given is None or given.verdict != FIXED or not given.start_seq:
        return []
    keys = state.groups.get(signature, ())
    return [key for key in keys if state.findings[key].seq > given.start_seq]


FOLDS = (
    EventFold(SupervisorStarted, engines_started),
    EventFold(VerdictsChanged, verdicts_changed, rows=lambda e: [*e.findings, *e.mutants]),
)
