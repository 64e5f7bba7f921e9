"""Lines of C targets: a build for gcov or llvm-cov, in which the queue entries run."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "gcov",
    services="fuzztui.features.gcov.process:services",
)
