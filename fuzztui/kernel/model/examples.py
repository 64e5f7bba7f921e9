"""Findings of properties as examples of the tests that they are in. Pure."""

from __future__ import annotations

from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.wire.afl import EXAMPLE_SEED
from fuzztui.kernel.wire.finding_kinds import CRASH

_STATEFUL = "::runTest"
"""The end of the name of a stateful test, a ``TestCase`` of :mod:`hypothesis.stateful`."""


def failing_examples(state: State) -> list[Finding]:
    """The findings with which plain pytest fails now.

    Their inputs are saved for Hypothesis, or are an ``@example`` of the test.
    """
    return [f for f in state.findings.values() if f.example or is_in_tests(f)]


def is_in_tests(finding: Finding) -> bool:
    """Whether a finding's input is an ``@example`` of the property."""
    return bool(finding.property) and f",orig:{EXAMPLE_SEED}" in finding.file


def new_to_tests(state: State) -> list[Finding]:
    """The crashes of properties that are not an ``@example`` of the tests."""
    crashes = (f for f in state.findings.values() if f.property and f.category == CRASH.category)
    return [f for f in crashes if not is_in_tests(f)]


def takes_examples(finding: Finding) -> bool:
    """Whether the test can have an ``@example``: a stateful test cannot."""
    return not finding.property.endswith(_STATEFUL)
