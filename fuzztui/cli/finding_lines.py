"""Findings about a machine as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fuzztui.tools.doctor.findings import MachineFinding

_STATE = 9
_WHAT = 14
"""Columns of a line's state, and of what it is about."""


def finding_lines(findings: Iterable[MachineFinding]) -> Iterator[str]:
    """Yield a line for each finding, and one for what to do about it."""
    for finding in findings:
        yield f"  {finding.state:<{_STATE}}{finding.what:<{_WHAT}}{finding.text}"
        if finding.advice:
            yield f"  {'':<{_STATE + _WHAT}}-> {finding.advice}"
