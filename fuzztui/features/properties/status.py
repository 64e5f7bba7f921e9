"""The rows of ``fuzztui status`` about a suite: its properties, what findings mean for pytest."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from fuzztui.features.properties.fold import property_rows
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.examples import failing_examples, new_to_tests, takes_examples
from fuzztui.kernel.model.state import State
from fuzztui.run.home.finding import WRITE_EXAMPLES, campaign_file, tested_project


def suite_rows(state: State, run: Path) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the rows."""
    rows = property_rows(state).values()
    if not rows:
        return
    states = [row.state for row in rows]
    failed, out = states.count("failed"), states.count("not run")
    words = [several(len(rows) - out, "property", "properties")]
    words += [f"{failed:,} with findings"] if failed else []
    words += [f"{out:,} not run"] if out else []
    words += [f"{several(state.other_tests, 'test')} without @given"] if state.other_tests else []
    yield "suite", ", ".join(words)
    if saved := failing_examples(state):
        yield "pytest", f"fails at once, with {several(len(saved), 'finding')}"
    root = tested_project(campaign_file(run))
    if root is not None and any(map(takes_examples, new_to_tests(state))):
        yield "add tests", f"cd {shlex.quote(str(root))} && {WRITE_EXAMPLES}"
