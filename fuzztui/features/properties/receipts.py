"""How the effect of a property's weight is measured. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fuzztui.features.properties.fold import FIGURES
from fuzztui.kernel.model.receipts import Meter, Moment, at, gauges
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Command, WeighProperty

_SHOWN = ("trials", "entries", "findings")
_PLACES = [FIGURES.index(name) for name in _SHOWN]


def _figures(state: State, keys: Collection[str], since: Moment) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for key in keys:
        instance, _, name = key.partition("/")
        each = [
            rows[name]
            for one, rows in state.properties.items()
            if name in rows and instance in ("", one)
        ]
        if each:
            found[key] = [sum(row[place] for row in each) for place in _PLACES]
    return found


RECEIPTS: Mapping[type[Command], Meter] = {
    WeighProperty: Meter(
        "property", lambda c, _: [at(c.instance, c.property)], _figures, gauges(*_SHOWN)
    )
}
