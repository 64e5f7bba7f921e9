"""Every key of a campaign file: the table from which checks and docs/campaign.md are made."""

from __future__ import annotations

from fuzztui.engines.kinds import Key
from fuzztui.run.campaign.schema.engines import *
from fuzztui.run.campaign.schema.machines import *
from fuzztui.run.campaign.schema.mu2 import *
from fuzztui.run.campaign.schema.mutants import *
from fuzztui.run.campaign.schema.oracle import *
from fuzztui.run.campaign.schema.tables import *
from fuzztui.run.campaign.schema.text import *
