"""Minimise findings with afl-tmin, with an in-process engine, or with the program oracle."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "minimise",
    services="fuzztui.features.minimise.handlers:services",
)
