"""The outcome as Markdown: a page for the summary of a job, a comment for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from fuzztui.features.verdicts.block import verdict_block
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.wire.verdicts import REGRESSION, label
from fuzztui.tools.ci.outcome import (
    CiOutcome,
    CodeLocation,
    ReportedFinding,
    ReportedKill,
    ReportedSurvivor,
)
from fuzztui.tools.report.markdown_text import fenced, markdown_code, markdown_text

MAX_BYTES: Final = 900_000
"""GitHub drops a summary of more than 1 MiB as a whole."""
MAX_COMMENT_BYTES: Final = 60_000
"""GitHub refuses a comment of more than 65,536 characters."""
_FINDINGS: Final = 50
_SURVIVORS: Final = 200
_DETAIL_LINES: Final = 40
_COMMENTED: Final = 20
"""Rows of each table of a comment, which a reviewer reads beside the change."""


def markdown(outcome: CiOutcome) -> str:
    """Return the page."""
    return _joined(_lines(outcome), MAX_BYTES)


def _joined(lines: Iterable[str], limit: int) -> str:
    """The page, cut after the last whole line within ``limit`` bytes."""
    text = "\n".join(lines) + "\n"
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    cut = raw[:limit].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{cut}\n\n(cut: the rest is in results.sarif)\n"


def comment(outcome: CiOutcome) -> str:
    """Return a comment about the changed lines: survivors, and inputs that kill other mutants.

    The first line is a marker, by which the next run finds the comment to replace.
    """
    return _joined(_comment(outcome), MAX_COMMENT_BYTES)


def _comment(outcome: CiOutcome) -> Iterator[str]:
    yield f"<!-- fuzztui ci {outcome.fingerprint} -->"
    yield from _gates(outcome)
    if survivors := [s for s in outcome.noted_survivors if outcome.since]:
        yield ""
        mutants = several(len(survivors), "mutant")
        yield f"### {mutants} on changed lines not killed"
        yield from _table(survivors, _COMMENTED, "", lambda s: "")
    if kills := outcome.kills:
        yield ""
        number = several(len(kills), "mutant")
        yield f"### {number} on changed lines killed by new inputs only: add them to your tests"
        yield from _table(kills, _COMMENTED, "input", lambda kill: markdown_code(kill.input))
    if outcome.open_findings:
        yield ""
        yield f"### {several(len(outcome.open_findings), 'new finding')}"
        yield ""
        for finding in outcome.open_findings[:_COMMENTED]:
            title = markdown_text(brief(finding.title or finding.signature, 200))
            yield f"- {_place(finding.location)}: {title}. Input: {markdown_code(finding.input)}"
        if (left := len(outcome.open_findings) - _COMMENTED) > 0:
            yield f"- and {left:,} more: see the summary of the job"


_Row = TypeVar("_Row", ReportedSurvivor, ReportedKill)


def _table(
    rows: Sequence[_Row], limit: int, title: str, last: Callable[[_Row], str]
) -> Iterator[str]:
    """A table of mutants. ``title`` and ``last``: of its last column."""
    yield ""
    yield f"| place | function | change | {title} |"
    yield "|---|---|---|---|"
    for row in rows[:limit]:
        code = f"{markdown_code(row.function)} | {markdown_code(row.change)}"
        yield f"| {_place(row.location)} | {code} | {last(row)} |"
    if (left := len(rows) - limit) > 0:
        yield f"\nand {left:,} more"


def _gates(outcome: CiOutcome) -> Iterator[str]:
    sign = "❌" if outcome.code else "✅"
    yield f"## {sign} fuzztui: {markdown_text(outcome.campaign)}"
    yield ""
    for gate in outcome.gates:
        yield f"- {'❌' if gate.code else '✅'} {markdown_text(gate.text)}"


def _lines(outcome: CiOutcome) -> Iterator[str]:
    yield from _gates(outcome)
    for note in outcome.notes:
        yield f"- {markdown_text(note)}"
    yield ""
    yield "| | |"
    yield "|---|---|"
    for name, value in _figures(outcome):
        yield f"| {name} | {value} |"
    if outcome.findings:
        yield from _findings(outcome)
    if survivors := outcome.new_survivors:
        yield ""
        yield f"### {several(len(survivors), 'mutant')} not killed"
        since = outcome.since

        def mark(survivor: ReportedSurvivor) -> str:
            return "changed line" if survivor.is_noted and since else ""

        yield from _table(survivors, _SURVIVORS, "", mark)


def _figures(outcome: CiOutcome) -> Iterator[tuple[str, str]]:
    if outcome.since:
        functions = several(outcome.changed, "function")
        yield "changed", f"{functions} since {markdown_text(outcome.since)}"
    yield "replayed", several(outcome.replayed, "input")
    if outcome.executions:
        yield "fuzzed", several(outcome.executions, "execution")
    if outcome.mutants:
        least = "" if outcome.exact else "at least "
        invalid = f", {outcome.invalid:,} could not be run" if outcome.invalid else ""
        part = f", shard {outcome.shard}" if outcome.shard else ""
        yield "mutants", f"{least}{outcome.killed:,} of {outcome.mutants:,} killed{invalid}{part}"
    yield "corpus", outcome.inputs
    parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in outcome.seconds.items())
    yield "time", parts


def _findings(outcome: CiOutcome) -> Iterator[str]:
    ordered = sorted(outcome.findings, key=lambda f: not f.is_open)
    yield ""
    yield f"### {several(len(ordered), 'finding')}, {len(outcome.open_findings):,} of them new"
    for finding in ordered[:_FINDINGS]:
        yield ""
        yield from _finding(finding, outcome.verdicts)
    if len(ordered) > _FINDINGS:
        yield ""
        yield f"and {len(ordered) - _FINDINGS:,} more"


def _finding(finding: ReportedFinding, verdicts: str) -> Iterator[str]:
    yield f"#### {markdown_text(brief(finding.title or finding.signature, 200))}"
    yield ""
    where = f"{_place(finding.location)}: {markdown_text(finding.verdict)}"
    yield f"{where}. Input: {markdown_code(finding.input)}"
    if finding.is_open and finding.detail:
        yield ""
        yield "<details><summary>traceback</summary>"
        yield ""
        yield from fenced("\n".join(finding.detail.splitlines()[-_DETAIL_LINES:]))
        yield "</details>"
    if finding.is_open and finding.signature:
        yield ""
        yield f"Signature: {markdown_code(finding.signature)}"
        yield from _verdict(finding, verdicts or "the verdicts file")


def _verdict(finding: ReportedFinding, file: str) -> Iterator[str]:
    """What a user adds to the verdicts file, so that the finding fails no build any more."""
    if finding.verdict == label(REGRESSION):  # a second row about it would be an error
        yield f"(its verdict in {markdown_code(file)} is <code>fixed</code>: change that row)"
        return
    place = f"{finding.location.file}:{finding.location.line}" if finding.location else ""
    block = verdict_block(finding.signature, finding.title, place)
    if not block:
        yield "(it cannot have a verdict: the signature is only a signal, or is no short text)"
        return
    yield ""
    yield f"<details><summary>verdict, to be added to {markdown_code(file)}</summary>"
    yield ""
    yield from fenced(block)
    yield "</details>"


def _place(location: CodeLocation | None) -> str:
    return (
        markdown_code(f"{location.file}:{location.line}")
        if location
        else "outside of the repository"
    )
