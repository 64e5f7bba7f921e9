"""Properties: the test functions of a suite, which fuzztui runs as targets."""

from fuzztui.features.properties.fold import FOLDS, RECEIPTS
from fuzztui.features.properties.undo import UNDO
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "properties",
    folds=FOLDS,
    undo=UNDO,
    receipts=RECEIPTS,
    texts="fuzztui.features.properties.texts:texts",
    screen="fuzztui.features.properties.screen.screen:PropertiesScreen",
    actions="fuzztui.features.properties.screen.actions:ACTIONS",
    legend="fuzztui.features.properties.screen.columns:LEGEND",
    rows="fuzztui.features.properties.status:suite_rows",
    figures="fuzztui.features.properties.fold:figures",
)
