"""Targets: campaigns of several targets, whose time goes where it still finds something."""

from fuzztui.features.targets.fold import FOLDS, TargetRows
from fuzztui.features.targets.undo import UNDO
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "targets",
    folds=FOLDS,
    part=TargetRows,
    undo=UNDO,
    of_several=True,
    services="fuzztui.features.targets.services:services",
    texts="fuzztui.features.targets.texts:texts",
    screen="fuzztui.features.targets.screen.screen:TargetsScreen",
    actions="fuzztui.features.targets.screen.actions:ACTIONS",
    legend="fuzztui.features.targets.screen.columns:LEGEND",
    rows="fuzztui.features.targets.status:rows",
    figures="fuzztui.features.targets.status:figures",
)
