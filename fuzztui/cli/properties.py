"""Properties of a suite on the command line: lines of ``status``, and ``ctl weigh-property``."""

from __future__ import annotations

import argparse

from fuzztui.cli.output import USAGE, CliError, weight_or_factor
from fuzztui.cli.runs import find_run, standing
from fuzztui.features.properties.fold import PropertyRow, property_rows, property_weights
from fuzztui.kernel.base.suggest import meant, near_last
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import WeighProperty

_NEAR = 3
"""Maximum number of similar names that an error suggests."""

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
        raise CliError(
            "weigh-property needs a property and a weight; for example "
            "tests/test_a.py::test_b 3, or x2, or 0 for no turns",
            USAGE,
        )
    number, factor = weight_or_factor(options.more[0])
    run = options.run = find_run(options.run)  # once: find_run may print the choice
    state = standing(run).state
    name = _name(str(options.id), property_rows(state))
    each = {options.instance: 1.0}
    if factor:
        each = property_weights(state, name, options.instance) or each
        if len(set(each.values())) == 1:
            each = {options.instance: next(iter(each.values()))}
    commands = [
        WeighProperty(name, weight * number if factor else number, instance)
        for instance, weight in each.items()
    ]
    if problem := next((c.problem for c in commands if c.problem), ""):
        raise CliError(problem, USAGE)
    return commands


def _name(given: str, rows: dict[str, PropertyRow]) -> str:
    """The name that is ``given``, or the only one that ends with it. Raises :class:`CliError`."""
    if not rows:
        raise CliError("weigh-property is for suites; no engine has reported properties", USAGE)
    ends = [name for name in rows if name.endswith((f"::{given}", f"/{given}"))]
    if given not in rows and len(ends) != 1:
        hint = meant(ends[:_NEAR] or near_last(given, [*rows], "::", _NEAR))
        raise CliError(f"there is no property {given!r}{hint}", USAGE)
    name = given if given in rows else ends[0]
    if reason := rows[name].reason:
        raise CliError(f"{name} is not run: {reason}")
    return name
