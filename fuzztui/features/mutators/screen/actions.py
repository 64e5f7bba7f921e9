"""Actions of the Mutators screen, and what a user can do with the mixture now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Final

from fuzztui.kernel.wire.commands import WeighMutator
from fuzztui.kernel.wire.mixture import Mixture, stuck
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import RowContext, why_no_row, why_not_about


@dataclass(frozen=True, slots=True)
class MixtureContext(RowContext):
    """The mixture, and the mutator under the cursor, after all pending commands."""

    mixture: Mixture
    adaptive: bool = False
    mutator: str = ""
    wish: float = 1.0

    def labels(self) -> dict[str, str]:
        """Return the labels of the keys that switch something."""
        fixes = {"mixture.adaptive": "Hold fixed"} if self.adaptive else {}
        return fixes if self.wish else fixes | {"mutator.off": "On"}

    def moving(self, boundary: int, by: int) -> str:
        """Why a boundary of the mixture cannot be moved to one side."""
        if self.adaptive:
            return "the mixture is adaptive; press {mixture.adaptive:A} to fix it"
        return stuck(self.mixture, boundary, by)

    def weighing(self, factor: float = 1.0) -> str:
        """Why the weight of the mutator cannot be changed, or not be multiplied."""
        if not self.mutator:
            return "no mutator under the cursor"
        if factor != 1 and not self.wish:
            return "the mutator is never drawn; press {mutator.off:b} to draw it again"
        return self.weighed(factor).problem

    def weighed(self, factor: float) -> WeighMutator:
        """Multiply the weight."""
        return WeighMutator(self.mutator, self.wish * factor)

    def switched(self) -> WeighMutator:
        """Never draw the mutator, or draw it again."""
        return WeighMutator(self.mutator, float(not self.wish))


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
    *(
        _action(f"mutator.{name}", (key,), label, text, needs=WeighMutator.name,
                does="weigh mutators", footer=footer, mode="live", command=command,
                check=why_not_about(MixtureContext, "mutators", against))
        for name, key, label, text, against, command, footer in (
            ("raise", "plus", "Raise", "Draw this mutator twice as often",
             methodcaller("weighing", 2.0), methodcaller("weighed", 2.0), 24),
            ("lower", "minus", "Lower", "Draw this mutator half as often",
             methodcaller("weighing", 0.5), methodcaller("weighed", 0.5), 25),
            ("off", "b", "Off", "Never draw this mutator, or draw it again",
             MixtureContext.weighing, MixtureContext.switched, 26),
        )
    ),
    _action("mutator.find", ("backspace",), "Find",
        "Go to the latest entry or finding of this mutator", check=why_no_row, footer=22),
    _action("mutator.copy", ("c",), "Copy name", "Copy the mutator's name, for `fuzztui mutate`",
        check=why_no_row, footer=23),
)  # fmt: skip
