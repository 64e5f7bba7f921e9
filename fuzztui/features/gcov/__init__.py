"""Lines of C targets: a build for gcov, and the first and smallest queue entry of each line."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "gcov",
    services="fuzztui.features.gcov.process:services",
)
