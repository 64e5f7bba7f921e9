"""Type targeting (SpotOn): find the types that influence the goals of a Python target."""

from fuzztui.features.targeting.fold import FOLDS, RECEIPTS
from fuzztui.features.targeting.undo import UNDO
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "targeting",
    folds=FOLDS,
    undo=UNDO,
    receipts=RECEIPTS,
    services="fuzztui.features.targeting.setup:services",
    spec="fuzztui.features.targeting.setup:spec",
    texts="fuzztui.features.targeting.texts:texts",
    screen="fuzztui.features.targeting.screen.screen:TypesScreen",
    actions="fuzztui.features.targeting.screen.actions:ACTIONS",
    legend="fuzztui.features.targeting.screen.columns:LEGEND",
    aside="fuzztui.features.targeting.screen.strip:lists",
    overview="fuzztui.features.targeting.screen.strip:lines",
    advice="fuzztui.features.targeting.fold:advice",
    report="fuzztui.features.targeting.report:sections",
    rows="fuzztui.features.targeting.status:targeting_rows",
    figures="fuzztui.features.targeting.fold:figures",
)
