"""The section of a report about the properties of a suite."""

from __future__ import annotations

from typing import Final

from fuzztui.features.properties.fold import property_rows
from fuzztui.kernel.base.page import Code, Facts, Section, Table
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.state import State

_LISTED: Final = 300
"""Properties that are listed."""


def properties_section(state: State) -> Section | None:
    """Return the properties, those with findings first; None if the campaign has one target."""
    rows = list(property_rows(state).values())
    if not rows:
        return None
    run = sorted((r for r in rows if not r.reason), key=lambda r: (not r.findings, -r.trials))
    out = [r for r in rows if r.reason]
    failed = sum(bool(r.findings) for r in run)
    facts = [
        ("run", f"{several(len(run), 'property', 'properties')}, {failed:,} with findings"),
        ("not run", several(len(out), "property", "properties")),
        ("others", several(state.other_tests, "test without @given", "tests without @given")),
    ]
    mutants = bool(state.mutants)
    killed = ["killed"] * mutants
    table = Table(
        ("property", "findings", "trials", "corpus", "edges", *killed, "CPU", "share"),
        [
            (
                Code(brief(row.name, 300)),
                f"{row.findings:,}",
                f"{row.trials:,}",
                f"{row.entries:,}",
                f"{row.edges:,}",
                *[f"{row.killed:,}"] * mutants,
                f"{row.cpu_s:.1f} s",
                f"{row.share:.1%}",
            )
            for row in run[:_LISTED]
        ],
        frozenset(range(1, 7 + mutants)),
        max(0, len(run) - _LISTED),
    )
    reasons = Table(
        ("not run", "because"),
        [(Code(brief(row.name, 300)), brief(row.reason, 300)) for row in out[:_LISTED]],
        left_out=max(0, len(out) - _LISTED),
    )
    return Section("Properties", [Facts(facts), table, *([reasons] if out else [])])
