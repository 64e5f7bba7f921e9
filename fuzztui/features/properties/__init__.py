"""Properties: the test functions of a suite, which fuzztui runs as targets."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "properties",
    screen="fuzztui.features.properties.screen.screen:PropertiesScreen",
    actions="fuzztui.features.properties.screen.actions:ACTIONS",
)
