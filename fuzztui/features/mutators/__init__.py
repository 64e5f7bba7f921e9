"""The fragment pool for splicing, updated while a campaign with text mutators runs."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "mutators",
    services="fuzztui.features.mutators.process:services",
    screen="fuzztui.features.mutators.screen.screen:MutatorsScreen",
    actions="fuzztui.features.mutators.screen.actions:ACTIONS",
    overview="fuzztui.features.mutators.screen.overview_line:lines",
)
