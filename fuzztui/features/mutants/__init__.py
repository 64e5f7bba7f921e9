"""Mutants of the target: which survive, why, and what a user says about them."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "mutants",
    screen="fuzztui.features.mutants.screen.screen:MutantsScreen",
    actions="fuzztui.features.mutants.screen.actions:ACTIONS",
    overview="fuzztui.features.mutants.screen.overview_line:lines",
)
