"""Every key of a campaign file: the table from which checks and docs/campaign.md are made."""

from __future__ import annotations

from fuzztui.engines.kinds import Key
from fuzztui.run.campaign.schema.engines import AFL, ENGINE
from fuzztui.run.campaign.schema.machines import CLUSTER, HOST, HOSTS
from fuzztui.run.campaign.schema.mu2 import MU2_ENGINE, OPERATORS
from fuzztui.run.campaign.schema.mutants import LANGUAGES, MUTANTS, WEIGHTS
from fuzztui.run.campaign.schema.oracle import AFL_ORACLE, ORACLE
from fuzztui.run.campaign.schema.tables import (
    COMMON,
    ENGINES,
    FIRST,
    JUDGED,
    TABLES,
    TEXTUAL,
    tables_for,
)
from fuzztui.run.campaign.schema.text import ALIASES, TEXT
