"""What sets the weight of a target back. Pure."""

from __future__ import annotations

from fuzztui.features.targets.fold import TargetRows
from fuzztui.kernel.model.inverses import Inverse, Undos
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import WeighTarget


def _weight(state: State, name: str) -> float:
    return state.part(TargetRows).targets.get(name, {}).get("weight", 1.0)


def _undo(command: WeighTarget, before: State, now: State) -> Inverse:
    was = _weight(before, command.target)
    is_same = was == _weight(now, command.target)
    return Inverse(() if is_same else (WeighTarget(command.target, was),))


UNDO: Undos = {WeighTarget: _undo}
