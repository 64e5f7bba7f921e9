"""Siblings: other fuzzers of the same target beside the campaign, through their directories.

``keys``: the table ``[[siblings]]``. ``exchange``: one pass over the directories of one sibling.
``service``: the passes while the campaign runs. ``fold``: what the log has of them.
"""

from fuzztui.kernel.model.feature import Feature
from fuzztui.machines.siblings.fold import FOLDS, SiblingRows

FEATURE = Feature(
    "siblings",
    folds=FOLDS,
    part=SiblingRows,
    table="fuzztui.machines.siblings.keys:TABLE",
    services="fuzztui.machines.siblings.service:services",
    texts="fuzztui.machines.siblings.texts:texts",
    rows="fuzztui.machines.siblings.fold:rows",
    figures="fuzztui.machines.siblings.fold:figures",
    facts="fuzztui.machines.siblings.texts:facts",
)
