"""What sets rules about frames back. Pure."""

from __future__ import annotations

from fuzztui.kernel.model.inverses import Inverse, Undos
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import CountFrames, SkipFrames


def _counted(command: SkipFrames, before: State, now: State) -> Inverse:
    was, are = before.skipped_frames, now.skipped_frames
    added = [rule for rule in command.rules if rule not in was and rule in are]
    return Inverse((CountFrames(added),) if added else ())


def _skipped(command: CountFrames, before: State, now: State) -> Inverse:
    was, are = before.skipped_frames, now.skipped_frames
    removed = [rule for rule in command.rules if rule in was and rule not in are]
    return Inverse((SkipFrames(removed),) if removed else ())


UNDO: Undos = {SkipFrames: _counted, CountFrames: _skipped}
