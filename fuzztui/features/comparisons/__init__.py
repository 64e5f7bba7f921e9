"""Comparisons of the target's values, and the mutations that they suggest."""

from fuzztui.features.comparisons.fold import FOLDS
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "comparisons",
    folds=FOLDS,
    figures="fuzztui.features.comparisons.fold:figures",
)
