"""Fold groups of findings: one for each signature, which follows from the frames that count."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.new_groups import Notifications
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.model.verdicts import remove_unnumbered, unnumbered
from fuzztui.kernel.wire.events import FindingDescribed, SkippedFrames
from fuzztui.kernel.wire.frames import (
    MAX_RULES,
    Rules,
    counting,
    former_signature,
    parse_basis,
    parse_frames,
    rule_problem,
    signature_of,
)

_Index = dict[str, dict[str, int]]

_ROWS_A_RECORD = 10
"""Findings whose regrouping costs about as much as the fold of an ordinary record."""


def described(finding: Finding, e: FindingDescribed) -> Finding:
    """Return the finding with its description; signature and place are those without rules."""
    frames, basis = parse_frames(e.frames), parse_basis(e.basis)
    signature = former = e.signature
    if basis is None or not frames or not signature:
        frames, basis = (), None
    else:  # not e.signature: the engine may have applied other rules about frames
        signature = signature_of(basis, counting(frames, basis, ()))
        former = former_signature(basis, frames)
    return replace(
        finding,
        signature=signature,
        place=e.place,
        frames=[frame.row() for frame in frames],
        basis={} if basis is None else basis.row(),
        plain_signature=former,
        plain_place=_plain_place(e),
        property=e.property,
    )


def _plain_place(e: FindingDescribed) -> str:
    """The place of a finding if no rules about frames hold."""
    frames, basis = parse_frames(e.frames), parse_basis(e.basis)
    if basis is None or basis.depth or not frames:  # a program: its place does not depend on rules
        return e.place
    return counting(frames, basis, ())[0].place


def under(finding: Finding, rules: Rules) -> Finding:
    """Return the finding with signature and place as they are under rules about frames."""
    basis = parse_basis(finding.basis)
    signature, place = finding.plain_signature, finding.plain_place
    if basis is not None:
        frames = parse_frames(finding.frames)
        without, chosen = (counting(frames, basis, some) for some in ((), rules))
        signature = signature_of(basis, chosen)
        place = chosen[0].place if without[0] != chosen[0] else place
    if (signature, place) == (finding.signature, finding.place):
        return finding
    return replace(finding, signature=signature, place=place)


def skipped_frames(state: State, e: SkippedFrames, touched: ChangesBuilder) -> None:
    """Fold new rules about frames: all findings are grouped by them, also earlier ones."""
    state.skipped_frames = [rule for rule in e.rules if not rule_problem(rule)][:MAX_RULES]
    rules = tuple(state.skipped_frames)
    reported = state.part(Notifications).findings
    notified = {f.signature for key in reported if (f := state.findings.get(key))}
    for key, finding in list(state.findings.items()):
        now = under(finding, rules) if finding.basis else finding
        if now is not finding:
            put(state, now, touched)
            touched.findings.add(key)
            if finding.signature in notified:  # the parts of a reported group are no news
                reported.setdefault(key, state.t)
    for title in [title for title, same in state.titled.items() if len(same) > 1]:
        _distinguish(state, title, touched)  # groups may have been split while findings moved
    state.cost += len(state.findings) // _ROWS_A_RECORD
    touched.campaign = True


@dataclass(frozen=True, slots=True)
class Regrouping:
    """How other rules about frames would change the groups of a state."""

    before: int
    """The number of groups now."""
    after: int
    merged: int
    """Number of new groups that would have findings of several present groups."""
    split: int
    """Number of present groups whose findings would be in several new groups."""

    @property
    def text(self) -> str:
        """The difference in a few words: ``3 groups are 2 (1 merged)``."""
        parts = [f"{self.merged:,} merged"] * bool(self.merged)
        parts += [f"{self.split:,} split"] * bool(self.split)
        groups = several(self.before, "group")
        if not parts:
            return f"{groups}, as before"
        return f"{groups} {'is' if self.before == 1 else 'are'} {self.after:,} ({', '.join(parts)})"


def regrouping(state: State, rules: Rules) -> Regrouping:
    """Return how the groups of ``state`` would change if ``rules`` replaced the present rules."""
    to: dict[str, set[str]] = {}
    of: dict[str, set[str]] = {}
    for finding in list(state.findings.values()):
        if finding.signature:
            now = under(finding, rules).signature
            to.setdefault(finding.signature, set()).add(now)
            of.setdefault(now, set()).add(finding.signature)
    return Regrouping(
        len(to), len(of),
        sum(len(some) > 1 for some in of.values()), sum(len(some) > 1 for some in to.values()),
    )  # fmt: skip


def put(state: State, finding: Finding, touched: ChangesBuilder) -> None:
    """Replace a finding, and move it to the group of its signature."""
    before = state.findings.get(finding.key)
    if before is not None and _names(finding) == _names(before):
        state.findings[finding.key] = replace(finding, title=before.title)
        return
    titles = [f.plain_title for f in (before, finding) if f is not None and f.signature]
    groups = {title: [*state.titled.get(title, ())] for title in titles}
    if before is not None:
        _leave_group(state, before, touched)
    state.findings[finding.key] = finding
    if finding.signature:
        _join_group(state, finding, touched)
    for title, signatures in groups.items():
        if [*state.titled.get(title, ())] != signatures:
            _distinguish(state, title, touched)
        elif len(signatures) > 1 and finding.plain_title == title:
            others = (state.findings[key] for key in state.groups.get(finding.signature, ())[:2])
            alike = (f for f in others if f.key != finding.key and f.plain_title == title)
            if (other := next(alike, None)) is not None:  # what distinguishes a group is known
                text = other.title[len(title) :]
            else:
                text = _distinctions(state, title).get(finding.signature, "")
            _retitle(state, [finding.key], text, touched)


def _names(finding: Finding) -> tuple[str, str, str]:
    """What decides to which group and indexes a finding belongs."""
    return finding.signature, finding.plain_signature, finding.plain_title


def _distinctions(state: State, title: str) -> dict[str, str]:
    """What distinguishes the groups with a title, by signature: `` via caller``.

    These are the frames at which a group's stack differs first from the stack of each other group.
    With more groups there may be more of them, and two groups never get the same ones.
    """
    rules = tuple(state.skipped_frames)
    paths = {
        signature: _path(state.findings[state.groups[signature][0]], rules)
        for signature in state.titled.get(title, ())
    }
    state.cost += len(paths) // _ROWS_A_RECORD
    after: dict[tuple[str, ...], set[str]] = {}
    for path in paths.values():
        for n in range(len(path) + 1):
            after.setdefault(path[:n], set()).add("".join(path[n : n + 1]))
    texts = {}
    for signature, path in paths.items():
        names = [name for n, name in enumerate(path) if len(after[path[:n]]) > 1]
        texts[signature] = f" via {', '.join(names)}" if names else ""
    return texts


def _path(finding: Finding, rules: Rules) -> tuple[str, ...]:
    """The functions in a signature, innermost first, and the property; equal in a whole group.

    Of a signature that is made of a place, which is shown next to the title, only the property.
    """
    basis, names = parse_basis(finding.basis), []
    if basis is not None and basis.depth:
        names = [f.function for f in counting(parse_frames(finding.frames), basis, rules)]
    return (*names, finding.property) if finding.property else tuple(names)


def _distinguish(state: State, title: str, touched: ChangesBuilder) -> None:
    """Give all findings with this title what distinguishes their groups."""
    for signature, text in _distinctions(state, title).items():
        keys = [k for k in state.groups[signature] if state.findings[k].plain_title == title]
        _retitle(state, keys, text, touched)


def _retitle(state: State, keys: Iterable[str], text: str, touched: ChangesBuilder) -> None:
    for key in keys:
        finding = state.findings[key]
        if finding.title != (title := finding.plain_title + text):
            state.findings[key] = replace(finding, title=title)
            touched.findings.add(key)


def _indexes(state: State, finding: Finding) -> Iterator[tuple[_Index, str, str]]:
    """Yield the indexes that count findings, each with the two texts of this finding."""
    signature, plain = finding.signature, finding.plain_signature
    yield state.regrouped, plain, signature
    yield state.plain_signatures, signature, plain
    yield state.titled, finding.plain_title, signature


def add_to_group(state: State, finding: Finding) -> list[str]:
    """Add a finding to the group of its signature, without its key. Returns the group's keys."""
    signature = finding.signature
    group = state.groups.get(signature)
    if group is None:
        group = state.groups[signature] = []
        state.unnumbered_groups.setdefault(unnumbered(signature), []).append(signature)
    for index, one, other in _indexes(state, finding):
        counts = index.setdefault(one, {})
        counts[other] = counts.get(other, 0) + 1
    return group


def _mark_first(state: State, key: str, first: bool, touched: ChangesBuilder) -> None:
    if state.findings[key].first != first:
        state.findings[key] = replace(state.findings[key], first=first)
        touched.findings.add(key)


def _join_group(state: State, finding: Finding, touched: ChangesBuilder) -> None:
    """Insert a finding into the group of its signature, in the order of the log."""
    group = add_to_group(state, finding)
    at = bisect_left(group, finding.seq, key=lambda k: state.findings[k].seq)
    group.insert(at, finding.key)
    _mark_first(state, finding.key, at == 0, touched)
    if at == 0 and len(group) > 1:
        _mark_first(state, group[1], False, touched)


def _leave_group(state: State, finding: Finding, touched: ChangesBuilder) -> None:
    signature = finding.signature
    group = state.groups.get(signature)
    if not group:
        return
    group.remove(finding.key)
    for index, one, other in _indexes(state, finding):
        counts = index[one]
        counts[other] -= 1
        if not counts[other]:
            del counts[other]
        if not counts:
            del index[one]
    if group:
        _mark_first(state, group[0], True, touched)
    else:
        del state.groups[signature]
        place = unnumbered(signature)
        remove_unnumbered(state.unnumbered_groups, place, signature)


FOLDS = (EventFold(SkippedFrames, skipped_frames, rows=lambda e: e.rules),)
