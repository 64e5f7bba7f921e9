"""``[notify]``: runs a command of the user when there is news of the campaign."""

from fuzztui.features.notify.fold import FOLDS
from fuzztui.kernel.model.feature import Feature
from fuzztui.kernel.model.new_groups import Notifications

FEATURE = Feature(
    "notify",
    folds=FOLDS,
    part=Notifications,
    table="fuzztui.features.notify.keys:TABLE",
    of_several=True,
    services="fuzztui.features.notify.notifier:services",
)
