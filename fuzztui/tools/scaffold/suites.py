"""A project's Hypothesis tests as one target of ``fuzztui init``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from fuzztui.kernel.base.text import listed
from fuzztui.tools.scaffold.files import CampaignDraft
from fuzztui.tools.scaffold.python_targets import PythonTarget
from fuzztui.tools.scaffold.tree import PythonFile

_LEAST: Final = 2
"""Tests of a suite; a single test is a target of its own."""

_MAX_NAMED: Final = 20
"""Packages under test that are named in the campaign file."""

EXAMPLES: Final = ".hypothesis/examples"


@dataclass(frozen=True, slots=True)
class SuiteTarget:
    """All tests with ``@given``. ``parts``: directories and files, relative to the project."""

    tests: int
    parts: tuple[str, ...]
    include: tuple[str, ...]
    """The packages and modules under test."""

    @property
    def what(self) -> str:
        """What it is, for users."""
        return f"all {self.tests:,} @given tests"

    @property
    def where(self) -> str:
        """Where the tests are, for users."""
        return listed(list(self.parts))


def suite_target(
    files: Iterable[PythonFile], targets: Iterable[PythonTarget]
) -> SuiteTarget | None:
    """Return the suite of a project; None with fewer than two tests."""
    tests = [target for target in targets if target.is_test]
    if len(tests) < _LEAST:
        return None
    paths = (PurePath(test.reference.partition(":")[0]) for test in tests)
    parts = sorted({f"{p.parts[0]}/" if len(p.parts) > 1 else str(p) for p in paths})
    modules = sorted({f.module.partition(".")[0] for f in files if f.module} - {"setup"})
    return SuiteTarget(len(tests), tuple(parts), tuple(modules[:_MAX_NAMED]))


def suite_draft(
    target: SuiteTarget, name: str, python: str, path: Sequence[str], instances: int
) -> CampaignDraft:
    """Return the draft of a campaign with all tests."""
    keys: dict[str, object] = {
        "function": list(target.parts),
        "include": list(target.include),
        "examples": EXAMPLES,
        "path": list(path),
    }
    if python:
        keys["python"] = python
    notes = {
        "target.function": "Hypothesis tests: docs/suites.md",
        "target.examples": "findings are added: pytest then fails with them",
    }
    return CampaignDraft(name, "zest", keys, instances, notes=notes)
