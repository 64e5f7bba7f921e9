"""Every key of a campaign file: the table from which checks and docs/campaign.md are made."""

from __future__ import annotations

from fuzztui.engines.keys import Key
from fuzztui.run.campaign.schema.afl import FOR_AFL
from fuzztui.run.campaign.schema.binaries import BINARIES
from fuzztui.run.campaign.schema.engines import *
from fuzztui.run.campaign.schema.machines import *
from fuzztui.run.campaign.schema.tables import *
from fuzztui.run.campaign.schema.targets import *
from fuzztui.run.campaign.table import HOSTS
