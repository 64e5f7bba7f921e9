"""The outcome as annotations of lines: GitHub's workflow commands, GitLab's code quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from fuzztui.kernel.base.text import several, visible
from fuzztui.tools.ci.outcome import CiOutcome, CodeLocation
from fuzztui.tools.ci.sarif import message_of, survivor_message

_PLAIN: Final = 50
"""Findings, and survivors, that are printed as plain lines."""
MOST: Final = 10
"""GitHub shows this many errors and as many warnings of one step, and silently drops the rest."""


def github(outcome: CiOutcome) -> Iterator[str]:
    """Yield workflow commands: an error for each finding, a warning for each survivor."""
    errors = [(f.location, message_of(f)) for f in outcome.open_findings]
    yield from _commands("error", "finding", errors)
    survivors = [(s.location, survivor_message(s)) for s in outcome.noted_survivors]
    yield from _commands("warning", "survivor", survivors)


def plain(outcome: CiOutcome) -> Iterator[str]:
    """Yield a line for each finding and survivor, ``file:line: text`` as compilers do."""
    for finding in outcome.open_findings[:_PLAIN]:
        yield _at(finding.location) + message_of(finding)
    for survivor in outcome.noted_survivors[:_PLAIN]:
        yield _at(survivor.location) + survivor_message(survivor)
    shown = min(_PLAIN, len(outcome.noted_survivors)) + min(_PLAIN, len(outcome.open_findings))
    if left := len(outcome.noted_survivors) + len(outcome.open_findings) - shown:
        yield f"and {left:,} more: see the summary"


def _at(location: CodeLocation | None) -> str:
    return visible(f"{location.file}:{location.line}: ") if location else ""


def _commands(level: str, what: str, rows: list[tuple[CodeLocation | None, str]]) -> Iterator[str]:
    shown = rows if len(rows) <= MOST else rows[: MOST - 1]
    for location, text in shown:
        place = ""
        if location:
            place = f"file={_property(location.file)},line={location.line},"
            if location.end_line > location.line:
                place += f"endLine={location.end_line},"
        yield f"::{level} {place}title=fuzztui {what}::{_data(text)}"
    if left := len(rows) - len(shown):
        yield f"::{level} title=fuzztui {what}::and {several(left, what)} more: see the summary"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(outcome: CiOutcome) -> list[dict[str, Any]]:
    """Return GitLab's code quality report: findings and survivors with a place."""
    rows = [
        _row(f.rule, message_of(f), f.fingerprint(outcome.source), "critical", f.location)
        for f in outcome.open_findings
        if f.location
    ]
    rows += [
        _row("survivor", survivor_message(s), s.fingerprint, "minor", s.location)
        for s in outcome.noted_survivors
        if s.location
    ]
    seen: Counter[str] = Counter()
    for row in rows:  # of equal fingerprints only the first is shown
        fingerprint = row["fingerprint"]
        seen[fingerprint] += 1
        if (number := seen[fingerprint]) > 1:
            row["fingerprint"] += f"-{number}"
    return rows


def _row(
    rule: str, text: str, fingerprint: str, severity: str, location: CodeLocation
) -> dict[str, Any]:
    return {
        "check_name": f"fuzztui/{rule}",
        "description": visible(text),
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": visible(location.file), "lines": {"begin": location.line}},
    }
