"""Coverage by line: the text of the target, with lines, mutants, findings and goals."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "source",
    screen="fuzztui.features.source.screen.screen:SourceScreen",
)
