"""What a user can do with the mixture of text mutators."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.kernel.wire.mixture import Mixture, stuck
from fuzztui.tui.frame.action_context import (
    ActionContext,
    RowContext,
    WhyNot,
    why_not_pause,
    why_not_show,
)


@dataclass(frozen=True, slots=True)
class MixtureContext(RowContext):
    """The mixture after all pending commands."""

    mixture: Mixture
    adaptive: bool = False

    def labels(self) -> dict[str, str]:
        """Return the label of the key that fixes an adaptive mixture."""
        return {"mixture.adaptive": "Hold fixed"} if self.adaptive else {}


def why_not_mix(now: ActionContext) -> str:
    """Why the mixture cannot be changed."""
    has = isinstance(now.about, MixtureContext)
    return why_not_pause(now) or ("" if has else why_not_show("mutators")(now))


def why_not_move_boundary(boundary: int, by: int) -> WhyNot:
    """Return the check for moving a boundary of the mixture to one side."""

    def why_not(now: ActionContext) -> str:
        reason, about = why_not_mix(now), now.about
        if reason or not isinstance(about, MixtureContext):
            return reason
        if about.adaptive:
            return "the mixture is adaptive; press {mixture.adaptive:A} to fix it"
        return stuck(about.mixture, boundary, by)

    return why_not
