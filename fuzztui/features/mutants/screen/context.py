"""What the Mutants screen knows of the row under the cursor."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.kernel.model.selectors import ENDED
from fuzztui.tui.frame.action_context import ActionContext, RowContext, without_supervisor


@dataclass(frozen=True, slots=True)
class MutantContext(RowContext):
    """The mutant under the cursor, or a selection of mutants."""

    state: str = ""
    """Its state; of a selection: the state that all mutants share."""
    progress: str = ""
    """Its progress in the worklist: fuzzing, waiting, done, ...; an empty string for a selection,
    or without a worklist."""
    go_on: bool = False
    """Whether mutants have budget left, so that restarting the campaign continues their phase."""


def about(now: ActionContext) -> MutantContext:
    """Return the row under the cursor."""
    return now.about if isinstance(now.about, MutantContext) else MutantContext()


def judges_ended(now: ActionContext) -> bool:
    """Whether mutants of a campaign that has ended can be judged: a command records the verdict."""
    return without_supervisor(now) and now.state in ENDED and now.engine == "mu2"
