"""Actions of the Corpus screen."""

from __future__ import annotations

from functools import partial
from typing import Final

from fuzztui.kernel.wire.commands import DemoteEntry, PromoteEntry, ResetEntry, SkipEntry
from fuzztui.tui.frame.action import Action, editor, source_link, view_input
from fuzztui.tui.frame.action_context import ActionContext, why_no_row, why_not_steer


def why_not_steer_entry(now: ActionContext) -> str:
    """Why the entry under the cursor cannot be steered."""
    return why_not_steer(now) or why_no_row(now)


_action = partial(Action, group="Corpus", scope="corpus")

ACTIONS: Final[tuple[Action, ...]] = (
    _action("entry.promote", ("u",), "Promote",
        "Fuzz this entry next, with the energy of a favored one", needs="promote",
        does="promote entries", check=why_not_steer_entry, footer=10, mode="live",
        command=PromoteEntry),
    _action("entry.skip", ("d",), "Skip", "Never pick this entry again", needs="skip",
        does="skip entries", check=why_not_steer_entry, footer=11, mode="live", command=SkipEntry),
    _action("entry.reset", ("r",), "Reset", "Undo skip, promote and demote of this entry",
        needs="reset", does="reset entries", check=why_not_steer_entry, footer=12, mode="live",
        command=ResetEntry),
    _action("entry.demote", ("D",), "Demote",
        "Pick this entry as rarely as possible, with minimal energy", needs="demote",
        does="demote entries", check=why_not_steer_entry, footer=17, mode="live",
        command=DemoteEntry),
    source_link("corpus", "Corpus", "the line that the entry was the first to execute"),
    view_input("corpus", "Corpus"),
    editor("corpus", "Corpus", "a copy of the input"),
    _action("entry.copy", ("c",), "Copy path", "Copy the path of the entry's file",
        check=why_no_row, footer=13),
    _action("entry.parent", ("backspace",), "Parent",
        "Go to the entry from which this one was mutated", check=why_no_row, footer=14),
    _action("corpus.yields", ("v",), "Yield",
        "What comparisons and mutators have brought, by place", footer=12),
)  # fmt: skip
