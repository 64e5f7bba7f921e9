"""What sets the mixture of mutators, and the weights of single ones, back. Pure."""

from __future__ import annotations

from fuzztui.features.mutators.fold import mutator_wishes, settings
from fuzztui.kernel.model.inverses import Inverse, Undos, each, of_weight
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import SetMixture, WeighMutator


def _mixture(command: SetMixture, before: State, now: State) -> Inverse:
    old, new = settings(before, command.instance), settings(now, command.instance)
    return each(
        {name: (*s.mixture, s.adaptive) for name, s in old.items()},
        {name: (*s.mixture, s.adaptive) for name, s in new.items()},
        lambda s, name: SetMixture(*s, instance=name),
        command.instance,
    )


UNDO: Undos = {
    SetMixture: _mixture,
    WeighMutator: of_weight(WeighMutator, "mutator", mutator_wishes),
}
