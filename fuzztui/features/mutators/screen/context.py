"""What a user can do with the mixture of text mutators."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.kernel.wire.mixture import Mixture, stuck
from fuzztui.tui.frame.action_context import RowContext


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
