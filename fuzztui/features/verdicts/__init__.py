"""The verdicts file: what users say about findings, for all runs of a campaign file."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "verdicts",
    services="fuzztui.features.verdicts.keeper:services",
    spec="fuzztui.features.verdicts.equivalents:spec",
)
