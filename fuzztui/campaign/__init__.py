"""Read ``campaign.toml`` into a checked :class:`Campaign`; every error has file, line and key."""

from fuzztui.campaign.errors import CampaignError, Problem
from fuzztui.campaign.frozen import FrozenCampaign, write_frozen
from fuzztui.campaign.idle import refuse_idle_keys
from fuzztui.campaign.load import load
from fuzztui.campaign.model import Campaign

__all__ = [
    "Campaign",
    "CampaignError",
    "FrozenCampaign",
    "Problem",
    "load",
    "refuse_idle_keys",
    "write_frozen",
]
