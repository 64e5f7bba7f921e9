"""The targets in ``fuzztui status``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzztui.features.targets.fold import target_rows
from fuzztui.kernel.model.state import State


def target_run(run: Path, name: str) -> Path:
    """Return the run of one target of the campaign whose run is ``run``."""
    return run / "targets" / name


def rows(state: State, run: Path) -> Iterator[tuple[str, str]]:
    """Yield a row for each target: its share, and where its own run is."""
    for row in target_rows(state).values():
        weight = f", weight {row.weight:g}" if row.weight != 1 else ""
        share = f"{row.share:.0%} of the time{weight}, so far {row.core_s:,.0f} core seconds"
        yield row.name, f"{row.state}: {share}; {target_run(run, row.name)}"


def figures(state: State) -> dict[str, Any]:
    """Return the targets for ``status --json``; nothing if the campaign has one target."""
    found = target_rows(state)
    if not found:
        return {}
    return {
        "target_shares": [
            {
                "name": row.name,
                "state": row.state,
                "share": row.share,
                "weight": row.weight,
                "core_s": row.core_s,
                "finding_groups": row.findings,
            }
            for row in found.values()
        ]
    }
