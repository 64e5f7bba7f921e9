"""Coverage by line: the text of the target, with lines, mutants, findings and goals."""

from fuzztui.features.source.fold import FOLDS
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "source",
    folds=FOLDS,
    texts="fuzztui.features.source.texts:texts",
    screen="fuzztui.features.source.screen.screen:SourceScreen",
    actions="fuzztui.features.source.screen.actions:ACTIONS",
    legend="fuzztui.features.source.screen.code:LEGEND",
)
