"""Type targeting (SpotOn): find the types that influence the goals of a Python target."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "targeting",
    services="fuzztui.features.targeting.setup:services",
    spec="fuzztui.features.targeting.setup:spec",
    screen="fuzztui.features.targeting.screen.screen:TypesScreen",
    actions="fuzztui.features.targeting.screen.actions:ACTIONS",
    overview="fuzztui.features.targeting.screen.overview_line:lines",
)
