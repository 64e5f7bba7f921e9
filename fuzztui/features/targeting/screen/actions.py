"""Actions of the Types screen."""

from __future__ import annotations

from functools import partial
from typing import Final

from fuzztui.features.targeting.screen.context import TargetingContext, why_no_type
from fuzztui.kernel.wire.commands import IgnoreGoal, PinGoal, SetTargetedShare, WeighType
from fuzztui.tui.frame.action import Action, source_link
from fuzztui.tui.frame.action_context import why_no_row, why_not_about

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
            ("less", "left_square_bracket", "Less", "Target types with 5% fewer of the mutations",
             SetTargetedShare, _SHARE, TargetingContext.less, TargetingContext.with_less, 14),
            ("more", "right_square_bracket", "More", "Target types with 5% more of the mutations",
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
