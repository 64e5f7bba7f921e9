"""Actions of the Properties screen."""

from __future__ import annotations

from functools import partial
from typing import Final

from fuzztui.features.properties.screen.context import PropertyContext
from fuzztui.kernel.wire.commands import WeighProperty
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_no_row, why_not_about

_action = partial(Action, group="Properties", scope="properties")

ACTIONS: Final[tuple[Action, ...]] = (
    *(
        Action(
            f"properties.{name}", (key,), label, text, "Properties",
            scope="properties", needs=WeighProperty.name, does="weigh properties",
            check=why_not_about(PropertyContext, "properties", against), footer=footer,
            mode="live", command=command,
        )
        for name, key, label, text, against, command, footer in (
            ("raise", "greater_than_sign", "Raise", "Give this property twice the share",
             PropertyContext.raising, PropertyContext.raised, 11),
            ("lower", "less_than_sign", "Lower", "Give this property half the share",
             PropertyContext.lowering, PropertyContext.lowered, 12),
            ("off", "b", "Off", "Give this property no turns, or turns again",
             PropertyContext.weighing, PropertyContext.switched, 13),
        )
    ),
    _action("properties.find", ("backspace",), "Find", "Go to the latest finding of this property",
        check=why_no_row, footer=22),
    _action("properties.copy", ("c",), "Copy name", "Copy the property's name, for pytest",
        check=why_no_row, footer=23),
)  # fmt: skip
