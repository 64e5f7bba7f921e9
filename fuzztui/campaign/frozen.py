"""The frozen copy of a campaign: what its run continues with, whatever becomes of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from fuzztui.base.atomic import replace_text
from fuzztui.campaign.model import Campaign

__all__ = ["FrozenCampaign", "Tables", "run_of", "write_frozen"]

FROZEN = "campaign.toml"
"""What it is called in its run."""

_RUN = ("supervisor", "log", "out")
"""Directories that make a directory with a frozen copy a run."""

Tables = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class FrozenCampaign:
    """A checked campaign and the tables of its frozen copy (all paths absolute)."""

    campaign: Campaign
    frozen: Tables
    origin: Callable[[str], str] = field(default=str, repr=False, compare=False)
    """Where a dotted key comes from: ``file:line`` (its table's, if it is not there), ``--set``."""
    given: frozenset[str] = frozenset()
    """The dotted keys that the file or ``--set`` gives."""
    says_where: bool = False
    """Is ``campaign.output`` given? Then that is this campaign's, whoever began it."""

    def toml(self) -> str:
        """The frozen copy as text; loading it gives the same campaign."""
        return tomli_w.dumps({name: table for name, table in self.frozen.items() if table})


def run_of(file: Path) -> Path | None:
    """The run that a file is the frozen copy of; None of any other file."""
    here = file.absolute().parent
    frozen = file.name == FROZEN and all((here / part).is_dir() for part in _RUN)
    return here if frozen else None


def write_frozen(loaded: FrozenCampaign, run: Path) -> None:
    """Put the frozen copy into a run directory, whole or not at all. Raises OSError."""
    replace_text(run / FROZEN, loaded.toml())
