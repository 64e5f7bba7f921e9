"""The findings of a run, by group, as parts of a page."""

from __future__ import annotations

from collections.abc import Iterator

from fuzztui.kernel.base.page import Block, Code, Facts, Folded, Item, Note, Part, Section, moment
from fuzztui.kernel.base.signals import signal_name
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.kernel.model.finding_tallies import Group, groups, is_examined, severity_text
from fuzztui.kernel.model.selectors import totals
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.model.verdicts import given_about, verdict_of
from fuzztui.kernel.wire.finding_kinds import kind_of
from fuzztui.kernel.wire.severity import beside
from fuzztui.kernel.wire.verdicts import OPEN, label
from fuzztui.tools.report.run import MAX_FINDINGS, FindingInput, ReportedRun

_TITLE = 200
_DETAIL_LINES = 60
_DETAIL_CHARACTERS = 8000
_LISTED = 5
"""Further files of a group that are named."""


def shown_groups(state: State) -> list[Group]:
    """The groups that a report has in full: those without a verdict first, then by time.

    Findings that were not examined yet are last.
    """
    own = [g for g in groups(state) if not _is_of_mutant(state, g.first)]
    own.sort(key=lambda g: (not is_examined(g.first), verdict_of(state, g.signature) not in OPEN))
    return own


def _is_of_mutant(state: State, finding: Finding) -> bool:
    instance = state.instances.get(finding.instance)
    return instance is not None and bool(instance.mutant)


def findings_section(run: ReportedRun) -> Section:
    """The section about findings."""
    found = shown_groups(run.state)
    if not found:
        none = "No findings are in the log, which is damaged." if run.damage else "No findings."
        return Section("Findings", [Note(none)])
    parts: list[Part] = []
    not_saved = totals(run.state).stats.findings_not_saved
    if not_saved > 0:
        parts.append(
            Note(
                f"At least {several(not_saved, 'distinct finding')} beyond engine.max_findings "
                "were not saved.",
                is_warning=True,
            )
        )
    parts += [_group(run, group) for group in found[:MAX_FINDINGS]]
    if left := len(found) - MAX_FINDINGS:
        parts += [Note(f"and {left:,} more")] if left > 0 else []
    unexamined = sum(len(g.findings) for g in found if not is_examined(g.first))
    counted = sum(is_examined(g.first) for g in found)
    what = [several(counted, "group")] if counted or not unexamined else []
    what += [f"{unexamined:,} not examined yet"] if unexamined else []
    return Section(f"Findings: {run.at_least}{', '.join(what)}", parts)


def title_of(finding: Finding) -> str:
    """A finding's title; without a description its signal, or its file."""
    if finding.title:
        return brief(finding.title, _TITLE)
    return signal_name(finding.sig) if finding.sig > 0 else brief(finding.file, _TITLE)


def _group(run: ReportedRun, group: Group) -> Item:
    state, first = run.state, group.first
    verdict = verdict_of(state, group.signature)
    given = given_about(state, group.signature)
    rows: list[tuple[str, Code | str]] = []
    if first.place:
        rows.append(("place", Code(brief(first.place))))
    if (worst := group.worst).severity:
        rows.append(("severity", brief(severity_text(worst), 400)))
    if group.signature:
        rows.append(("signature", Code(brief(group.signature))))
    rows.append(("found", _when(first, state)))
    if len(group.findings) > 1 or group.count > 1:
        times = f"{several(len(group.findings), 'file')}, seen {several(group.count, 'time')}"
        rows.append(("how often", times))
    if given is not None:
        by = ", ".join(text for text in (given.author, given.date) if text)
        rows.append(("verdict", brief(f"{label(verdict)} by {by}" if by else label(verdict))))
        if given.note:
            rows.append(("note", brief(given.note, 1000)))
    content = run.inputs.get(first.key)
    if content is not None:
        rows += _input_rows(content)
    parts: list[Part] = [Facts(rows)]
    if content is not None and content.command:
        parts.append(Block(content.command))
    if first.detail.strip():
        parts.append(Folded("the whole report", [Block(bounded(first.detail))]))
    others = [f.key for f in group.findings[1:]]
    if others:
        names = "\n".join(brief(key, 200) for key in others[:_LISTED])
        more = f"\nand {len(others) - _LISTED:,} more" if len(others) > _LISTED else ""
        parts.append(Folded(several(len(others), "further file"), [Block(names + more)]))
    tags = kind_of(first.category).noun + beside(group.worst.severity), label(verdict)
    return Item(title_of(first), parts, tags)


def _when(first: Finding, state: State) -> str:
    at = f" at execution {first.execs:,}" if first.execs > 0 else ""
    by = f" by {brief(first.op, 100)}" if first.op else ""
    return f"after {moment(first.t, state.t)}{at} by instance {brief(first.instance)}{by}"


def _input_rows(content: FindingInput) -> Iterator[tuple[str, Code | str]]:
    if content.content:
        size = f", {several(content.size, 'byte')}" if content.size >= 0 else ""
        yield f"input ({content.kind}{size})", Code(content.content)
    yield "file", Code(content.file)


def bounded(text: str) -> str:
    """Return a target's report; of one that is too long, only its start and its end.

    A sanitizer writes the cause at the start, an exception at the end.
    """
    text = visible(text, lines=True).strip("\n")
    lines = text.split("\n")
    if len(lines) > _DETAIL_LINES:
        half = _DETAIL_LINES // 2
        left = len(lines) - 2 * half
        lines = [*lines[:half], f"… {several(left, 'line')} left out", *lines[-half:]]
    text = "\n".join(brief(line, 400) for line in lines)
    if len(text) > _DETAIL_CHARACTERS:
        half = _DETAIL_CHARACTERS // 2
        text = f"{text[:half]}\n… left out\n{text[-half:]}"
    return text
