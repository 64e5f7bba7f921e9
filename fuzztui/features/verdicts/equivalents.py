"""Equivalent mutants: what users mark during a run is written into the verdicts file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fuzztui.features.verdicts.file import (
    VerdictsError,
    change_mutant_verdicts,
    read_mutant_verdicts,
)
from fuzztui.features.verdicts.judging import row_about, verdicts_file
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import MarkEquivalent
from fuzztui.kernel.wire.verdicts import EQUIVALENT, MAX_NAME, MAX_NOTE
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir

Reasons = Mapping[str, str]
"""The reason of each mutant that is marked as equivalent, by id."""


def equivalents(state: State) -> Reasons:
    """Return the mutants that are marked as equivalent, with their reasons."""
    if not state.mutant_counts.get(EQUIVALENT):
        return {}
    return {m.id: m.reason for m in list(state.mutants.values()) if m.state == EQUIVALENT}


def file_equivalents(file: Path, state: State, before: Reasons, now: Reasons) -> None:
    """Write into the file what has changed from ``before`` to ``now``. Blocking.

    A mutant that is no longer marked loses its row. Nothing is written if the file says the same.
    Raises :class:`~fuzztui.features.verdicts.file.VerdictsError`.
    """
    marked = {id: because for id, because in now.items() if before.get(id) != because}
    gone = before.keys() - now.keys()
    if not marked and not gone:
        return
    filed = {id: v for id, v in read_mutant_verdicts(file).items() if v.verdict == EQUIVALENT}
    date = datetime.now(UTC).replace(microsecond=0).isoformat()
    by = _author(state)
    put = [
        row_about(m, EQUIVALENT, because, by, date)
        for id, because in marked.items()
        if (m := state.mutants.get(id)) is not None
        and (id not in filed or filed[id].because != brief(because, MAX_NOTE))
    ]
    removed = gone & filed.keys()
    if put or removed:
        change_mutant_verdicts(file, put, removed)


def spec(campaign: Campaign, directory: Path, _path: Path) -> Mapping[str, Any]:
    """Return reason and change of the mutants that the file marks as equivalent, by id."""
    if campaign.kind != "mu2":
        return {}
    try:
        file = verdicts_file(RunDir(directory.parent.parent), campaign.verdicts)
        verdicts = read_mutant_verdicts(file).values()
    except VerdictsError:  # broken by an edit since the start: the supervisor reports that
        return {}
    marked = {v.id: [v.because, v.change] for v in verdicts if v.verdict == EQUIVALENT}
    return {"equivalent": marked} if marked else {}


def _author(state: State) -> str:
    """Who marked mutants last."""
    for status in reversed(list(state.commands.values())):
        if isinstance(command_of(status), MarkEquivalent):
            return brief(status.by, MAX_NAME)
    return ""
