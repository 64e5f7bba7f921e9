"""Mutants of the target: which survive, why, and what a user says about them."""

from fuzztui.features.mutants.receipts import RECEIPTS
from fuzztui.features.mutants.undo import UNDO
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "mutants",
    undo=UNDO,
    receipts=RECEIPTS,
    texts="fuzztui.features.mutants.texts:texts",
    screen="fuzztui.features.mutants.screen.screen:MutantsScreen",
    actions="fuzztui.features.mutants.screen.actions:ACTIONS",
    legend="fuzztui.features.mutants.screen.columns:LEGEND",
    aside="fuzztui.features.mutants.screen.aside:lists",
    overview="fuzztui.features.mutants.screen.overview_line:lines",
)
