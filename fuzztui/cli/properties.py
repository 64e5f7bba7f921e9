"""Properties of a suite on the command line: lines of ``status``, and ``ctl weigh-property``."""

from __future__ import annotations

import argparse

from fuzztui.cli.ctl_action import one_of, weighed
from fuzztui.cli.output import CliError, UsageError
from fuzztui.cli.runs import standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.properties.fold import PropertyRow, property_rows, property_weights
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import WeighProperty

MAX_LISTED = 200
"""Properties that ``status`` lists."""


def property_lines(state: State) -> list[str]:
    """The lines of ``status`` about properties: those with findings first, then by share."""
    rows = sorted(
        property_rows(state).values(), key=lambda r: (bool(r.reason), not r.findings, -r.share)
    )
    mutants = bool(state.mutants)
    lines = [_line(row, mutants=mutants) for row in rows[:MAX_LISTED]]
    if (more := len(rows) - MAX_LISTED) > 0:
        lines.append(f"  and {more:,} more properties: --json lists them all")
    return lines


def _line(row: PropertyRow, *, mutants: bool) -> str:
    if row.reason:
        return brief(f"  not run   {row.name}: {row.reason}")
    weight = f" weight {row.weight:g}" if row.weight != 1 else ""
    found = f" {several(row.findings, 'finding')}" if row.findings else ""
    killed = f" {row.killed:>6,} killed" if mutants else ""
    return brief(
        f"  {row.share:>6.1%} {row.trials:>10,} trials {row.entries:>6,} corpus"
        f" {row.edges:>6,} edges{killed}"
        f" {row.cpu_s:>8.1f} s  {row.name}{weight}{found}"
    )


def weigh_property(options: argparse.Namespace) -> list[WeighProperty]:
    """``weigh-property NAME 3``; ``x2`` and ``x0.5`` multiply each instance's present weight."""
    if not options.id or len(options.more) != 1:
        raise UsageError(
            "weigh-property needs a property and a weight; for example "
            "tests/test_a.py::test_b 3, or x2, or 0 for no turns"
        )
    run = options.run = find_one_target(options.run)  # once: find_run may print the choice
    state = standing(run).state
    name = _name(str(options.id), property_rows(state))
    return weighed(options, WeighProperty, name, property_weights(state, name, options.instance))


def _name(given: str, rows: dict[str, PropertyRow]) -> str:
    """The name that is ``given``, or the only one that ends with it. Raises :class:`CliError`."""
    if not rows:
        raise UsageError("weigh-property is for suites; no engine has reported properties")
    name = one_of(given, rows, "there is no property", "::", "/")
    if reason := rows[name].reason:
        raise CliError(f"{name} is not run: {reason}")
    return name
