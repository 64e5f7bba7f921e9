"""Corpus care: what each input covers and kills, which inputs are enough, why an entry is kept."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "corpus",
    services="fuzztui.features.corpus.setup:services",
    screen="fuzztui.features.corpus.screen.screen:CorpusScreen",
    actions="fuzztui.features.corpus.screen.actions:ACTIONS",
    legend="fuzztui.features.corpus.screen.screen:LEGEND",
)
