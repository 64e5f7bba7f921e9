"""The verdicts file: what users say about findings, for all runs of a campaign file."""

from fuzztui.features.verdicts.undo import UNDO
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "verdicts",
    undo=UNDO,
    of_several=True,
    services="fuzztui.features.verdicts.keeper:services",
    spec="fuzztui.features.verdicts.equivalents:spec",
)
