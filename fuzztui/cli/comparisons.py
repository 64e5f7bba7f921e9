"""``fuzztui comparisons``: entries and tokens made from comparisons, by place in the target."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fuzztui.cli.json_output import print_json
from fuzztui.cli.output import DONE, CliError, at_terminal
from fuzztui.cli.runs import none_left, standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.comparisons.fold import (
    ComparisonRow,
    OperationYield,
    comparison_rows,
    comparisons_dict,
    operation_yields,
    totals_of,
)
from fuzztui.kernel.base.text import aligned, several, visible
from fuzztui.run.campaign import CampaignError, load

_SHOWN: Final = 40
"""Places in the table, on a terminal without --all."""
_EXAMPLES: Final = 4
"""Operands and tokens of a place in the table."""
_WIDTH: Final = 24
_OPERATION: Final = 10
"""Columns of the name of an operation."""


def comparisons(options: argparse.Namespace) -> int:
    """Print a table of comparisons by place, or one JSON object."""
    run = find_one_target(options.run)
    seen = standing(run)
    rows = comparison_rows(seen.state)
    if options.json:
        places = [_row_dict(row) for row in rows]
        operations = (comparisons_dict(seen.state) or {}).get("operations", [])
        found = {"places": places, "operations": operations, "problems": [*seen.problems]}
        print_json("comparisons", found)
    if not rows and seen.is_lower_bound:
        raise none_left(run, seen, "comparisons")
    if options.json:
        return DONE
    if not rows and _switched_off(run):
        raise CliError(
            f"{run / 'campaign.toml'}: engine.comparisons = false: comparisons are switched off"
        )
    if not rows:
        raise CliError(
            f"{run}: no engine has reported comparisons: only in-process engines record them, and"
            " only those of Python code (docs/zest.md)"
        )
    most = _SHOWN if at_terminal() and not options.all else len(rows)
    for line in table(rows[:most]):
        print(visible(line))
    if len(rows) > most:
        print(f"(and {several(len(rows) - most, 'more place')}: --all)")
    print()
    print(summary(rows))
    for line in yield_lines(operation_yields(seen.state)):
        print(visible(line))
    return DONE


def _switched_off(run: Path) -> bool:
    """Whether the campaign file of the run switches the recording of comparisons off."""
    try:
        return load(run / "campaign.toml").campaign.engine.get("comparisons") is False
    except CampaignError:
        return False


def summary(rows: Sequence[ComparisonRow]) -> str:
    """Return the sums over all places in one line, which ``status`` prints too."""
    entries = several(sum(len(row.entries) for row in rows), "queue entry", "queue entries")
    tokens = several(sum(len(row.tokens) for row in rows), "token")
    return f"{entries} and {tokens} from comparisons at {several(len(rows), 'place')}"


def yield_lines(yields: Sequence[OperationYield]) -> Iterator[str]:
    """Yield a line for each operation: its share of entries and of trials."""
    entries, trials = totals_of(yields)
    for y in yields:
        if y.trials < 0:
            continue
        made = f"{y.entries:,} ({y.entries / entries:.0%})" if entries else "0"
        tried = f"{y.trials:,} ({y.trials / max(1, trials):.0%})"
        yield f"{y.name:<{_OPERATION}}  entries {made}, trials {tried}"


def table(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yield a title line, and a line for each place."""
    cells = [("place", "entries", "tokens", "operands and tokens")]
    for row in rows:
        operands = dict.fromkeys(entry.operand for entry in row.entries)
        examples = [*operands, *map(repr, row.tokens)]
        brief = [e if len(e) <= _WIDTH else e[: _WIDTH - 1] + "…" for e in examples[:_EXAMPLES]]
        more = " …" if len(examples) > _EXAMPLES else ""
        numbers = f"{len(row.entries):,}", f"{len(row.tokens):,}"
        cells.append((row.place, *numbers, ", ".join(brief) + more))
    yield from aligned(cells, (1, 2))


def _row_dict(row: ComparisonRow) -> dict[str, object]:
    return {
        "place": row.place,
        "entries": [
            {"entry": e.key, "operand": e.operand, "edges": e.edges if e.edges >= 0 else None}
            for e in row.entries
        ],
        "tokens": row.tokens,
    }
