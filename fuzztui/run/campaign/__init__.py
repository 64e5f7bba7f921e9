"""Read ``campaign.toml`` into a checked :class:`Campaign`; every error has file, line and key."""

from fuzztui.run.campaign.contradictions import refuse_idle_keys
from fuzztui.run.campaign.load import load
from fuzztui.run.campaign.model import Campaign, CampaignError, FrozenCampaign, write_frozen
