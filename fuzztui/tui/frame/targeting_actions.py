"""What can be asked about types and goals, and why something cannot. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.wire.commands import Command, IgnoreGoal, PinGoal, SetTargetedShare, WeighType

__all__ = ["STEP", "Aiming", "PendingTargeting"]

STEP = 0.05
"""By so much a key moves the part of mutations that aim."""

MOST = 1024.0
"""A weight that keys go up to, and one through it down to: more tells nothing apart."""


@dataclass(frozen=True, slots=True)
class Aiming:
    """The row under the cursor, and how things are when all that was asked for is done.

    The methods say why something cannot be done, "" when it can.
    """

    targeted: float = -1.0
    """The part of mutations that aim, 0 to 1; -1 before any engine has told."""
    weight: float = -1.0
    """Of the type under the cursor; -1: there is none."""
    target: str = ""
    """The location of the goal under the cursor, "" where there is none."""
    typed: bool = False
    """Whether a type is known to decide about it."""
    pinned: str = ""
    """The location that is pinned."""
    on_targets: bool = False
    """Whether the targets' table has the cursor."""
    ignored: bool = False
    """Whether nothing aims at the goal under the cursor, as somebody wants it."""

    def weighing(self) -> str:
        """Against any other weight."""
        if self.on_targets:
            return "t goes to the types"
        return "" if self.weight >= 0 else "no type under the cursor"

    def raising(self) -> str:
        """Against twice the weight."""
        if reason := self.weighing():
            return reason
        if not self.weight:
            return "it is banned: b ends that"
        return "its weight is very high already" if self.weight >= MOST else ""

    def lowering(self) -> str:
        """Against half the weight."""
        if reason := self.weighing():
            return reason
        if not self.weight:
            return "it is banned: b ends that"
        return "its weight is very low already: b bans it" if self.weight <= 1 / MOST else ""

    @property
    def unpins(self) -> bool:
        """Whether the key that pins ends a pin: on the pinned target, or on no target."""
        return bool(self.pinned) and self.target in ("", self.pinned)

    def pinning(self) -> str:
        """Against pinning the target, or ending that."""
        return "" if self.unpins else self._aiming_at_it()

    def ignoring(self) -> str:
        """Against ignoring the target, or ending that."""
        return "" if self.ignored else self._aiming_at_it()

    def _aiming_at_it(self) -> str:
        if not self.on_targets:
            return "t goes to the goals"
        if not self.target:
            return "no goal under the cursor"
        return "" if self.typed else "no type is known to decide about it"

    def more(self) -> str:
        """Against a larger part."""
        return self._share() or ("all mutations aim already" if self.targeted >= 1 else "")

    def less(self) -> str:
        """Against a smaller part."""
        return self._share() or ("no mutation aims already" if self.targeted <= 0 else "")

    def _share(self) -> str:
        return "" if self.targeted >= 0 else "no engine has reported its types yet"

    def elsewhere(self) -> frozenset[str]:
        """The ids of actions that are for rows of the other table."""
        if self.on_targets:
            return frozenset({"types.raise", "types.lower", "types.ban", "types.find"})
        return frozenset({"types.ignore"} if self.unpins else {"types.pin", "types.ignore"})

    def labels(self) -> dict[str, str]:
        """What keys that go both ways do now, by the action's id."""
        return {
            "types.other": "Types" if self.on_targets else "Targets",
            "types.ban": "Ban" if self.weight else "Unban",
            "types.pin": "Unpin" if self.unpins else "Pin",
            "types.ignore": "Unignore" if self.ignored else "Ignore",
        }


@dataclass(frozen=True, slots=True)
class PendingTargeting:
    """What is asked for and not answered yet, oldest first; None below: nothing is."""

    commands: tuple[Command, ...] = ()

    def weight(self, type: str) -> float | None:
        """The weight that the type is to have."""
        return next(
            (c.weight for c in reversed(self.commands) if isinstance(c, WeighType)
             and c.type == type), None,
        )  # fmt: skip

    @property
    def pinned(self) -> str | None:
        """The location that is to be pinned; "": none is to be."""
        return next((c.location for c in reversed(self.commands) if isinstance(c, PinGoal)), None)

    def ignored(self, location: str) -> bool | None:
        """Whether the target is to be ignored; one that is to be pinned is not."""
        for command in reversed(self.commands):
            if isinstance(command, (IgnoreGoal, PinGoal)) and command.location == location:
                return isinstance(command, IgnoreGoal) and command.ignored
        return None

    @property
    def targeted(self) -> float | None:
        """The part of mutations that is to aim."""
        return next(
            (c.share for c in reversed(self.commands) if isinstance(c, SetTargetedShare)), None
        )
