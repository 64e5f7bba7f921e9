"""Fuzz-first: fuzz the mutants of a target, then the target itself with what they found."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "fuzzfirst",
    services="fuzztui.features.fuzzfirst.services:services",
    phase="fuzztui.features.fuzzfirst.phase:phase",
)
