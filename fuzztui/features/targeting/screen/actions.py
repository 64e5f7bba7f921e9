"""Actions of the Types screen, and why commands about types and goals are impossible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from fuzztui.features.targeting.fold import GoalRow, TargetingSummary, TypeRow
from fuzztui.kernel.wire.commands import Command, IgnoreGoal, PinGoal, SetTargetedShare, WeighType
from fuzztui.tui.frame.action import Action, source_link
from fuzztui.tui.frame.action_context import (
    ActionContext,
    RowContext,
    why_no_row,
    why_not_about,
    why_not_show,
)

STEP = 0.05
"""Share of mutations by which one key press changes the targeted share."""

MOST = 1024.0
"""Largest weight that keys set, and its inverse is the smallest: beyond, no difference shows."""


@dataclass(frozen=True, slots=True)
class TargetingContext(RowContext):
    """The row under the cursor, as it is after all pending commands.

    For each action one method returns why it is impossible (an empty string if it is possible),
    and one returns its command.
    """

    targeted: float = -1.0
    """Share of mutations that target a type, 0 to 1; -1 until an engine has reported it."""
    weight: float = -1.0
    """Weight of the type under the cursor; -1 if there is none."""
    target: str = ""
    """Location of the goal under the cursor; an empty string if there is none."""
    typed: bool = False
    """Whether the static analysis knows a type that decides this goal."""
    pinned: str = ""
    """Location of the pinned goal; an empty string if there is none."""
    on_targets: bool = False
    """Whether the cursor is in the table of goals."""
    ignored: bool = False
    """Whether a user has set the goal under the cursor to be ignored."""
    type: str = ""
    """Name of the type under the cursor; an empty string if there is none."""
    is_over: bool = False
    """Whether all goals are covered."""

    @classmethod
    def of(
        cls,
        aim: TargetingSummary | None,
        row: TypeRow | GoalRow | None,
        asked: PendingTargeting,
        *,
        on_targets: bool,
    ) -> TargetingContext:
        """Return the context of a row; ``aim`` is None until an engine has reported its types."""
        pinned = asked.pinned
        if pinned is None:
            pinned = "" if aim is None else aim.pinned
        now = cls(
            -1.0 if aim is None else aim.targeted if asked.targeted is None else asked.targeted,
            pinned="" if asked.ignored(pinned) else pinned,
            on_targets=on_targets,
            is_over=aim is not None and aim.is_over,
        )
        match row:
            case TypeRow():
                return replace(now, type=row.name, weight=asked.weight_of(row))
            case GoalRow():
                return replace(
                    now,
                    target=row.location,
                    typed=bool(row.types),
                    ignored=asked.ignores(row),
                )
            case None:
                return now

    def weighing(self) -> str:
        """Why the weight of a type cannot change."""
        if self.on_targets:
            return "press {types.other:t} to go to the types"
        return "" if self.weight >= 0 else "no type under the cursor"

    def raising(self) -> str:
        """Why the weight cannot be doubled."""
        if reason := self.weighing():
            return reason
        if not self.weight:
            return "the type is banned; press {types.ban:b} to allow it"
        return "the type already has the highest weight" if self.weight >= MOST else ""

    def lowering(self) -> str:
        """Why the weight cannot be halved."""
        if reason := self.weighing():
            return reason
        if not self.weight:
            return "the type is banned; press {types.ban:b} to allow it"
        return (
            "the lowest weight; press {types.ban:b} to ban the type"
            if self.weight <= 1 / MOST
            else ""
        )

    @property
    def unpins(self) -> bool:
        """Whether the pin key removes the pin: on the pinned goal, or without a goal."""
        return bool(self.pinned) and self.target in ("", self.pinned)

    def pinning(self) -> str:
        """Why the goal can be neither pinned nor unpinned."""
        return "" if self.unpins else self._aiming_at_it()

    def ignoring(self) -> str:
        """Why the goal can be neither ignored nor allowed again."""
        return "" if self.ignored else self._aiming_at_it()

    def _aiming_at_it(self) -> str:
        if not self.on_targets:
            return "press {types.other:t} to go to the goals"
        if not self.target:
            return "no goal under the cursor"
        return "" if self.typed else "no type is known that decides this goal"

    def more(self) -> str:
        """Why the targeted share cannot grow."""
        return self._share() or ("all mutations are already targeted" if self.targeted >= 1 else "")

    def less(self) -> str:
        """Why the targeted share cannot shrink."""
        return self._share() or ("no mutation is targeted already" if self.targeted <= 0 else "")

    def _share(self) -> str:
        if self.is_over:
            return "all goals are covered: no mutation is targeted"
        return "" if self.targeted >= 0 else "no engine has reported its types yet"

    def raised(self) -> WeighType:
        """Double the weight of the type."""
        return WeighType(self.type, self.weight * 2)

    def lowered(self) -> WeighType:
        """Halve the weight of the type."""
        return WeighType(self.type, self.weight / 2)

    def banned(self) -> WeighType:
        """Ban the type, or allow it again."""
        return WeighType(self.type, float(not self.weight))

    def pinned_or_not(self) -> PinGoal:
        """Pin the goal, or unpin it."""
        return PinGoal("" if self.unpins else self.target)

    def ignored_or_not(self) -> IgnoreGoal:
        """Ignore the goal, or stop ignoring it."""
        return IgnoreGoal(self.target, not self.ignored)

    def with_more(self, by: float = STEP) -> SetTargetedShare:
        """Increase the targeted share."""
        return SetTargetedShare(round(min(1.0, max(0.0, self.targeted + by)), 2))

    def with_less(self) -> SetTargetedShare:
        """Decrease the targeted share."""
        return self.with_more(-STEP)

    def elsewhere(self) -> frozenset[str]:
        """Return the ids of actions that apply to rows of the other table."""
        if self.on_targets:
            return frozenset({"types.raise", "types.lower", "types.ban", "types.find"})
        return frozenset({"types.ignore"} if self.unpins else {"types.pin", "types.ignore"})

    def labels(self) -> dict[str, str]:
        """Return the current labels of keys that switch something on and off, by action id."""
        return {
            "types.other": "Types" if self.on_targets else "Goals",
            "types.ban": "Ban" if self.weight else "Unban",
            "types.pin": "Unpin" if self.unpins else "Pin",
            "types.ignore": "Unignore" if self.ignored else "Ignore",
        }


def why_no_type(now: ActionContext) -> str:
    """Why an action that needs a type under the cursor is impossible."""
    about = now.about
    return about.weighing() if isinstance(about, TargetingContext) else why_not_show("types")(now)


@dataclass(frozen=True, slots=True)
class PendingTargeting:
    """Targeting commands without an answer yet, oldest first. None: no such command is pending."""

    commands: tuple[Command, ...] = ()

    def weight(self, type: str) -> float | None:
        """Return the pending weight of a type."""
        return next(
            (c.weight for c in reversed(self.commands) if isinstance(c, WeighType)
             and c.type == type), None,
        )  # fmt: skip

    def weight_of(self, row: TypeRow) -> float:
        """Return the weight of a type after all pending commands."""
        asked = self.weight(row.name)
        return row.weight if asked is None else asked

    @property
    def pinned(self) -> str | None:
        """Location of the pending pin; an empty string if the pin is being removed."""
        return next((c.location for c in reversed(self.commands) if isinstance(c, PinGoal)), None)

    def ignored(self, location: str) -> bool | None:
        """Return whether a goal is being ignored; False: allowed again, also by a pin."""
        for command in reversed(self.commands):
            if isinstance(command, (IgnoreGoal, PinGoal)) and command.location == location:
                return isinstance(command, IgnoreGoal) and command.ignored
        return None

    def ignores(self, row: GoalRow) -> bool:
        """Return whether a goal is ignored after all pending commands."""
        asked = self.ignored(row.location)
        return row.ignored if asked is None else asked

    @property
    def targeted(self) -> float | None:
        """The pending targeted share, 0 to 1."""
        last = next((c for c in reversed(self.commands) if isinstance(c, SetTargetedShare)), None)
        return None if last is None or last.adaptive else last.share


_SHARE = "change the targeted share during the campaign"

_action = partial(Action, group="Types", scope="types")

ACTIONS: Final[tuple[Action, ...]] = (
    _action("types.other", ("t",), "Goals", "Switch between the types and the uncovered goals",
        footer=1),
    *(
        Action(
            f"types.{name}", (key,), label, text, "Types",
            scope="types", needs=kind.name, does=does,
            check=why_not_about(TargetingContext, "types", against),
            footer=footer, mode="live", command=command,
        )
        for name, key, label, text, kind, does, against, command, footer in (
            ("raise", "greater_than_sign", "Raise", "Target this type twice as often",
             WeighType, "weigh types", TargetingContext.raising, TargetingContext.raised, 11),
            ("lower", "less_than_sign", "Lower", "Target this type half as often",
             WeighType, "weigh types", TargetingContext.lowering, TargetingContext.lowered, 12),
            ("ban", "b", "Ban", "Never target this type, or allow it again",
             WeighType, "weigh types", TargetingContext.weighing, TargetingContext.banned, 13),
            ("pin", "o", "Pin", "Target only this goal until it is covered, or unpin it",
             PinGoal, "pin a goal", TargetingContext.pinning, TargetingContext.pinned_or_not, 10),
            ("less", "left_square_bracket", "Less",
             "Target types with 5% fewer of the mutations, no longer adaptive",
             SetTargetedShare, _SHARE, TargetingContext.less, TargetingContext.with_less, 14),
            ("more", "right_square_bracket", "More",
             "Target types with 5% more of the mutations, no longer adaptive",
             SetTargetedShare, _SHARE, TargetingContext.more, TargetingContext.with_more, 14),
            ("ignore", "d", "Ignore", "Never target this goal, or allow it again",
             IgnoreGoal, "ignore a goal", TargetingContext.ignoring,
             TargetingContext.ignored_or_not, 14),
        )
    ),
    _action("types.idle", ("i",), "Idle", "Show or leave out the types that are not drawn (0%)",
        footer=19),
    _action("types.find", ("backspace",), "Find",
        "Go to the latest entry or finding from targeting this type", check=why_no_type, footer=22),
    _action("types.copy", ("c",), "Copy",
        "Copy the type's name, or the goal's location, for `fuzztui ctl`", check=why_no_row,
        footer=23),
    source_link("types", "Types", "the goal's line"),
)  # fmt: skip
