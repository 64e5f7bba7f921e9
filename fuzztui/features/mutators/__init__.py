"""The fragment pool for splicing, updated while a campaign with text mutators runs."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "mutators",
    services="fuzztui.features.mutators.process:services",
)
