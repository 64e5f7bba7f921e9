"""Fuzz-first: fuzz the mutants of a target, then the target itself with what they found."""

from fuzztui.features.fuzzfirst.fold import FOLDS
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "fuzzfirst",
    folds=FOLDS,
    table="fuzztui.features.fuzzfirst.keys:TABLE",
    services="fuzztui.features.fuzzfirst.services:services",
    phase="fuzztui.features.fuzzfirst.phase:phase",
    texts="fuzztui.features.fuzzfirst.texts:texts",
    report="fuzztui.features.fuzzfirst.report:sections",
    figures="fuzztui.features.fuzzfirst.fold:figures",
)
