"""The fragment pool for splicing, updated while a campaign with text mutators runs."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "mutators",
    services="fuzztui.features.mutators.process:services",
    screen="fuzztui.features.mutators.screen.screen:MutatorsScreen",
    overview="fuzztui.features.mutators.screen.overview_line:lines",
)
