"""What sets weights of types, pins, ignored goals and the targeted share back. Pure."""

from __future__ import annotations

from fuzztui.features.targeting.fold import weights
from fuzztui.kernel.model.inverses import Inverse, Undos, each, of_weight
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import (
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    TypeCommand,
    WeighType,
)
from fuzztui.kernel.wire.events import TargetingStats


def _share(figures: TargetingStats) -> float | None:
    return None if figures.adaptive else figures.targeted


def _goal(command: TypeCommand, before: State, now: State) -> Inverse:
    """Undo a pin, an ignore or a targeted share."""
    alive = {
        name: (before.types[name], figures)
        for name, figures in now.types.items()
        if name in before.types
        and (not command.instance or name == command.instance)
        and now.instances[name].state not in ENDED
    }
    old = {name: was for name, (was, _) in alive.items()}
    new = {name: is_ for name, (_, is_) in alive.items()}
    if isinstance(command, SetTargetedShare):
        return each(
            {name: _share(f) for name, f in old.items()},
            {name: _share(f) for name, f in new.items()},
            lambda share, name: (
                SetTargetedShare(instance=name, adaptive=True)
                if share is None
                else SetTargetedShare(share, name)
            ),
            command.instance,
        )
    location = getattr(command, "location", "")
    pins = each(
        {name: f.pinned for name, f in old.items()},
        {name: f.pinned for name, f in new.items()},
        PinGoal,
        command.instance,
    )
    ignored = each(
        {name: location in f.ignored for name, f in old.items()},
        {name: location in f.ignored for name, f in new.items()},
        lambda value, name: IgnoreGoal(location, value, name),
        command.instance,
    )
    left = {at for goals in now.uncovered_goals.values() for at in goals}
    note = ""
    # An ignored goal is no pinned one, so that the pins, which end that, come last.
    commands = [*ignored.commands] if location else []
    for pin in pins.commands:
        goal = getattr(pin, "location", "")
        if goal and left and goal not in left:
            note = f"{goal} is covered: it is not pinned again"
            commands.append(PinGoal("", getattr(pin, "instance", "")))
        else:
            commands.append(pin)
    return Inverse(tuple(commands), note)


UNDO: Undos = {
    WeighType: of_weight(WeighType, "type", weights),
    **dict.fromkeys((PinGoal, IgnoreGoal, SetTargetedShare), _goal),
}
