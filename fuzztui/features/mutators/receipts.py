"""How the effects of commands about text mutators are measured. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fuzztui.features.mutators.fold import figures_by_mutator
from fuzztui.kernel.model.receipts import Meter, Moment, at, gauges
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Command, SetMixture, WeighMutator
from fuzztui.kernel.wire.mixture import CLASSES, class_of


def _mutators(state: State, keys: Collection[str], since: Moment) -> dict[str, list[float]]:
    """By mutator: how often it was drawn, and the entries that it found."""
    found: dict[str, list[float]] = {}
    for key in keys:
        instance, _, name = key.partition("/")
        if (figures := figures_by_mutator(state, instance).get(name)) is not None:
            found[key] = [figures[0], figures[2]]
    return found


def _classes(state: State, keys: Collection[str], since: Moment) -> dict[str, list[float]]:
    """Entries that mutators of each class found; one that stacks several counts for each."""
    found: dict[str, list[float]] = {}
    for key in keys:  # an instance and a slash
        sums = dict.fromkeys(CLASSES, 0.0)
        for name, figures in figures_by_mutator(state, key.rstrip("/")).items():
            sums[class_of(name)] += figures[2]
        found[key] = [*sums.values()]
    return found


RECEIPTS: Mapping[type[Command], Meter] = {
    WeighMutator: Meter(
        "mutator", lambda c, _: [at(c.instance, c.mutator)], _mutators, gauges("drawn", "finds")
    ),
    SetMixture: Meter(
        "mixture",
        lambda c, _: [at(c.instance, "")],
        _classes,
        gauges(*(f"finds of {name}" for name in CLASSES)),
    ),
}
