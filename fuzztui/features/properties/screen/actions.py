"""Actions of the Properties screen, and what a user can do with a property now."""

from __future__ import annotations

from functools import partial
from typing import Final

from fuzztui.kernel.wire.commands import WeighProperty
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_no_row
from fuzztui.tui.frame.weights import WeightContext, weight_actions


class PropertyContext(WeightContext):
    """The property under the cursor, after all pending commands."""

    __slots__ = ()
    SCOPE, NOUN, COMMAND = "properties", "property", WeighProperty


_action = partial(Action, group="Properties", scope="properties")

ACTIONS: Final[tuple[Action, ...]] = (
    *weight_actions(PropertyContext, footer=11, needs=WeighProperty.name),
    _action("properties.find", ("backspace",), "Find", "Go to the latest finding of this property",
        check=why_no_row, footer=22),
    _action("properties.copy", ("c",), "Copy name", "Copy the property's name, for pytest",
        check=why_no_row, footer=23),
)  # fmt: skip
