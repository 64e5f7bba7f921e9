"""Text mutators: their mixture, and the fragment pool for splicing."""

from fuzztui.features.mutators.fold import FOLDS, RECEIPTS
from fuzztui.features.mutators.undo import UNDO
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "mutators",
    folds=FOLDS,
    undo=UNDO,
    receipts=RECEIPTS,
    table="fuzztui.features.mutators.keys:TABLE",
    spec="fuzztui.features.mutators.keys:spec",
    services="fuzztui.features.mutators.process:services",
    texts="fuzztui.features.mutators.texts:texts",
    screen="fuzztui.features.mutators.screen.screen:MutatorsScreen",
    actions="fuzztui.features.mutators.screen.actions:ACTIONS",
    legend="fuzztui.features.mutators.screen.columns:LEGEND",
    overview="fuzztui.features.mutators.screen.strip:lines",
    advice="fuzztui.features.mutators.fold:advice",
    report="fuzztui.features.mutators.report:sections",
    rows="fuzztui.features.mutators.status:mixture_rows",
    figures="fuzztui.features.mutators.fold:figures",
)
