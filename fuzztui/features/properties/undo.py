"""What sets the weight of a property back. Pure."""

from __future__ import annotations

from fuzztui.features.properties.fold import property_weights
from fuzztui.kernel.model.inverses import Inverse, Undos, each
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import WeighProperty


def _weight(command: WeighProperty, before: State, now: State) -> Inverse:
    return each(
        property_weights(before, command.property, command.instance),
        property_weights(now, command.property, command.instance),
        lambda weight, name: WeighProperty(command.property, weight, name),
        command.instance,
    )


UNDO: Undos = {WeighProperty: _weight}
