"""The details of one property. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.features.properties.fold import PropertyRow
from fuzztui.features.properties.screen.columns import STYLES
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Finding, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.commands import commands_naming
from fuzztui.tui.labels.details import pair, title

MAX_FINDINGS = 20
"""Findings that are listed."""


def property_lines(row: PropertyRow, state: State) -> list[Line]:
    """Return name, state, figures, and the findings."""
    file, _, name = row.name.partition("::")
    lines: list[Line] = [
        [TextSpan(plain(name or file), "bold")],
        [TextSpan(plain(file if name else ""), "muted")],
        [],
        pair("state", row.state + _goes_on(row), STYLES[row.state]),
    ]
    if row.reason:
        return [*lines, pair("because", plain(row.reason))]
    share, weight = format.share(row.share), f"weight {row.weight:g}"
    share = f"had {share} of the work at the end" if row.is_over else f"{share} of the work now"
    lines += [
        pair("share", f"{share}, {weight}"),
        pair("trials", f"{row.trials:,}, {row.invalid:,} of them invalid"),
        pair("corpus", f"{several(row.entries, 'entry', 'entries')}, {several(row.edges, 'edge')}"),
        *([pair("killed", several(row.killed, "mutant"))] if row.killed else []),
        pair("CPU", format.span(row.cpu_s)),
    ]
    if len(row.weights) > 1 and len(set(row.weights.values())) > 1:
        each = ", ".join(f"{plain(name)} {weight:g}" for name, weight in row.weights.items())
        lines.append(pair("weights", each))
    lines += commands_naming(state, "property", row.name)
    found = findings_of(state, row.name)
    if found:
        lines += [[], title("findings")]
    for finding in found[:MAX_FINDINGS]:
        text = plain(f"{finding.title} at {finding.place}", 200)
        lines.append([TextSpan(text, finding.category)])
        lines.append([TextSpan(f"  {plain(finding.input, 400)}", "muted")])
    if len(found) > MAX_FINDINGS:
        lines.append([TextSpan(f"and {len(found) - MAX_FINDINGS} more", "muted")])
    return lines


def _goes_on(row: PropertyRow) -> str:
    """Why a failed property still has a share."""
    goes_on = row.state == "failed" and not row.is_over
    return "; it is fuzzed on, for other failures" if goes_on else ""


def findings_of(state: State, name: str) -> Sequence[Finding]:
    """Return the findings of a property, the latest first."""
    return sorted((f for f in state.findings.values() if f.property == name), key=lambda f: -f.t)


def no_properties_lines() -> list[Line]:
    """Return why there are no properties, and how to get some."""
    return [
        [TextSpan("No engine has reported its properties yet.", "muted")],
        [TextSpan("They are there when the tests were collected.", "muted")],
    ]
