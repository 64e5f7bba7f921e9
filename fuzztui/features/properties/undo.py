"""What sets the weight of a property back. Pure."""

from __future__ import annotations

from fuzztui.features.properties.fold import property_weights
from fuzztui.kernel.model.inverses import Undos, of_weight
from fuzztui.kernel.wire.commands import WeighProperty

UNDO: Undos = {WeighProperty: of_weight(WeighProperty, "property", property_weights)}
