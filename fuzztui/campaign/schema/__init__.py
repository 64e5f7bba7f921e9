"""Every key of a campaign file: the table from which checks and docs/campaign.md are made."""

from __future__ import annotations

from fuzztui.campaign.schema.engines import AFL, ENGINE
from fuzztui.campaign.schema.key import KIND_HELP, Key, Kind
from fuzztui.campaign.schema.machines import CLUSTER, HOST, HOSTS
from fuzztui.campaign.schema.mu2 import MU2_ENGINE, OPERATORS
from fuzztui.campaign.schema.mutants import LANGUAGES, MUTANTS, WEIGHTS
from fuzztui.campaign.schema.oracle import AFL_ORACLE, ORACLE
from fuzztui.campaign.schema.tables import (
    COMMON,
    ENGINES,
    FIRST,
    JUDGED,
    TABLES,
    TEXTUAL,
    tables_for,
)
from fuzztui.campaign.schema.text import ALIASES, TEXT

__all__ = [
    "AFL",
    "AFL_ORACLE",
    "ALIASES",
    "CLUSTER",
    "COMMON",
    "ENGINE",
    "ENGINES",
    "FIRST",
    "HOST",
    "HOSTS",
    "JUDGED",
    "KIND_HELP",
    "LANGUAGES",
    "MU2_ENGINE",
    "MUTANTS",
    "OPERATORS",
    "ORACLE",
    "TABLES",
    "TEXT",
    "TEXTUAL",
    "WEIGHTS",
    "Key",
    "Kind",
    "tables_for",
]
