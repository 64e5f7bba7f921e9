"""The frozen copy of a campaign in its run; the run never re-reads the original file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from fuzztui.base.atomic import replace_text
from fuzztui.campaign.model import Campaign

FROZEN = "campaign.toml"
"""File name of the frozen copy in the run directory."""

_RUN = ("supervisor", "log", "out")
"""Directories that a run directory contains."""

Tables = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class FrozenCampaign:
    """A checked campaign and the tables of its frozen copy (all paths absolute)."""

    campaign: Campaign
    frozen: Tables
    origin: Callable[[str], str] = field(default=str, repr=False, compare=False)
    """Called with a dotted key; returns its origin: ``file:line`` or ``--set ...``.

    For a key that is not in the file: the line of its table.
    """
    given: frozenset[str] = frozenset()
    """The dotted keys that are in the file or given with ``--set``."""
    says_where: bool = False
    """Whether ``campaign.output`` is given; the directory then belongs to this campaign."""

    def toml(self) -> str:
        """Return the text of the frozen copy; loading this text gives the same campaign."""
        return tomli_w.dumps({name: table for name, table in self.frozen.items() if table})


def run_of(file: Path) -> Path | None:
    """Return the run of which ``file`` is the frozen copy; None for any other file."""
    here = file.absolute().parent
    frozen = file.name == FROZEN and all((here / part).is_dir() for part in _RUN)
    return here if frozen else None


def write_frozen(loaded: FrozenCampaign, run: Path) -> None:
    """Write the frozen copy into a run directory, atomically. Raises OSError."""
    replace_text(run / FROZEN, loaded.toml())
