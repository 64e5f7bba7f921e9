"""Actions of the Mutators screen, and what a user can do with the mixture now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Final

from fuzztui.kernel.wire.mixture import Mixture, stuck
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import RowContext, why_no_row, why_not_about


@dataclass(frozen=True, slots=True)
class MixtureContext(RowContext):
    """The mixture after all pending commands."""

    mixture: Mixture
    adaptive: bool = False

    def labels(self) -> dict[str, str]:
        """Return the label of the key that fixes an adaptive mixture."""
        return {"mixture.adaptive": "Hold fixed"} if self.adaptive else {}

    def moving(self, boundary: int, by: int) -> str:
        """Why a boundary of the mixture cannot be moved to one side."""
        if self.adaptive:
            return "the mixture is adaptive; press {mixture.adaptive:A} to fix it"
        return stuck(self.mixture, boundary, by)


_MIX = "change its mixture during the campaign"

_action = partial(Action, group="Mutators", scope="mutators")

ACTIONS: Final[tuple[Action, ...]] = (
    *(
        Action(
            f"mixture.{name}", (key,), label, text, "Mutators",
            scope="mutators", needs="mixture", does=_MIX,
            check=why_not_about(MixtureContext, "mutators", methodcaller("moving", *move)),
            footer=footer, mode="live",
            run="mixture.move", args=move,
        )
        for name, key, label, text, move, footer in (
            ("text", "less_than_sign", "Havoc→text", "Move 5% of the steps from havoc to text",
             (0, -1), 10),
            ("havoc", "greater_than_sign", "Text→havoc", "Move 5% of the steps from text to havoc",
             (0, 1), 11),
            ("splice", "left_square_bracket", "Text→splice",
             "Move 5% of the steps from text to splice", (1, -1), 12),
            ("unsplice", "right_square_bracket", "Splice→text",
             "Move 5% of the steps from splice to text", (1, 1), 13),
        )
    ),
    _action("mixture.adaptive", ("A",), "Adaptive",
        "Make successful mutators more probable, or fix the mixture", needs="mixture", does=_MIX,
        check=why_not_about(MixtureContext, "mutators", lambda _: ""), footer=9, mode="live"),
    _action("mutator.find", ("backspace",), "Find",
        "Go to the latest entry or finding of this mutator", check=why_no_row, footer=22),
    _action("mutator.copy", ("c",), "Copy name", "Copy the mutator's name, for `fuzztui mutate`",
        check=why_no_row, footer=23),
)  # fmt: skip
