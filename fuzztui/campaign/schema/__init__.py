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
