"""The outcome as a Markdown page, for the summary of a job or a comment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fuzztui.features.verdicts.block import verdict_block
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.wire.verdicts import REGRESSION, label
from fuzztui.tools.ci.outcome import CiOutcome, CodeLocation, ReportedFinding
from fuzztui.tools.report.markdown_text import fenced, markdown_code, markdown_text

MAX_BYTES: Final = 900_000
"""GitHub drops a summary of more than 1 MiB as a whole."""
_FINDINGS: Final = 50
_SURVIVORS: Final = 200
_DETAIL_LINES: Final = 40


def markdown(outcome: CiOutcome) -> str:
    """Return the page."""
    text = "\n".join(_lines(outcome)) + "\n"
    raw = text.encode("utf-8", "replace")
    if len(raw) <= MAX_BYTES:
        return text
    cut = raw[:MAX_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{cut}\n\n(cut: the rest is in results.sarif)\n"


def _lines(outcome: CiOutcome) -> Iterator[str]:
    sign = "❌" if outcome.code else "✅"
    yield f"## {sign} fuzztui: {markdown_text(outcome.campaign)}"
    yield ""
    for gate in outcome.gates:
        yield f"- {'❌' if gate.code else '✅'} {markdown_text(gate.text)}"
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
        yield ""
        yield "| place | function | change | |"
        yield "|---|---|---|---|"
        for s in survivors[:_SURVIVORS]:
            mark = "changed line" if s.is_noted and outcome.since else ""
            code = f"{markdown_code(s.function)} | {markdown_code(s.change)}"
            yield f"| {_place(s.location)} | {code} | {mark} |"
        if left := len(survivors) - _SURVIVORS:
            yield f"\nand {left:,} more" if left > 0 else ""


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
