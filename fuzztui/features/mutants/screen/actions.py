"""Actions of the Mutants screen."""

from __future__ import annotations

from functools import partial
from typing import Final

from fuzztui.features.mutants.screen.checks import (
    why_not_accept,
    why_not_equivalent,
    why_not_move,
    why_not_move_step,
    why_not_promote,
    why_not_requeue,
    why_not_select_mutants,
    why_not_skip,
    why_not_use,
)
from fuzztui.kernel.wire.commands import (
    AcceptMutants,
    MarkEquivalent,
    MoveMutants,
    PromoteMutants,
    RequeueMutants,
    SkipMutants,
)
from fuzztui.tui.frame.action import Action, editor, source_link
from fuzztui.tui.frame.action_context import why_no_row, why_not_pause

ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "mutant.promote", ("u",), "Promote",
        "Run it on every input that reaches it; in a worklist: next, triple time",
        "Mutants",
        scope="mutants", needs="promote-mutants", does="promote mutants",
        check=why_not_promote, footer=10, mode="live",
        command=PromoteMutants,
    ),
    Action(
        "mutant.skip", ("d",), "Skip",
        "Do not run this mutant any more; in a worklist: end its turn", "Mutants",
        scope="mutants", needs="skip-mutants", does="skip mutants",
        check=why_not_skip, footer=11, mode="live",
        command=SkipMutants,
    ),
    Action(
        "mutant.equivalent", ("equals_sign",), "Equivalent",
        "Mark the mutant as equivalent, with a reason", "Mutants",
        scope="mutants", needs="mark-equivalent", does="mark mutants equivalent",
        check=why_not_equivalent, footer=13, mode="live",
        command=MarkEquivalent,
    ),
    Action(
        "mutant.accept", ("A",), "Accept",
        "Accept that the mutant survives, with a reason; again: no more", "Mutants",
        scope="mutants", check=why_not_accept, footer=13, mode="live", queue=False,
        command=AcceptMutants,
    ),
    Action(
        "mutant.requeue", ("r",), "Requeue",
        "Reset verdict, position and kill, and run the mutant again", "Mutants",
        scope="mutants", needs="requeue-mutants", does="requeue mutants",
        check=why_not_requeue, footer=14, mode="live",
        command=RequeueMutants,
    ),
    Action(
        "mutant.first", ("less_than_sign",), "First",
        "Move the mutant to the front of the waiting ones", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=why_not_move, footer=15, mode="live",
        command=partial(MoveMutants, to="first"),
    ),
    Action(
        "mutant.last", ("greater_than_sign",), "Last",
        "Move the mutant to the end of the waiting ones", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=why_not_move, footer=16, mode="live",
        command=partial(MoveMutants, to="last"),
    ),
    Action(
        "mutant.up", ("K", "shift+up"), "Up",
        "Move the mutant one position up in the worklist", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=why_not_move_step, footer=14, mode="live", queue=True,
        command=partial(MoveMutants, to="up"),
    ),
    Action(
        "mutant.down", ("J", "shift+down"), "Down",
        "Move the mutant one position down in the worklist", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=why_not_move_step, footer=14, mode="live", queue=True,
        command=partial(MoveMutants, to="down"),
    ),
    Action(
        "mutant.many", ("m",), "Many",
        "Do this for all of a function, file, operator, or the filter", "Mutants",
        scope="mutants", check=why_not_select_mutants, footer=12, mode="live",
    ),
    Action(
        "mutants.use", ("U",), "Use",
        "Fuzz the next mutants one at a time, or one for each instance", "Mutants",
        scope="mutants", check=why_not_use, mode="live", queue=True,
    ),
    Action(
        "mutants.exact", ("E",), "Exact pass",
        "Run every survivor on the whole corpus now: an exact score", "Mutants",
        scope="mutants", needs="exact-pass", does="make an exact pass",
        check=why_not_pause, footer=18, mode="live", queue=False,
    ),
    Action(
        "mutants.functions", ("t",), "Functions",
        "Switch between mutants and files and functions with their scores",
        "Mutants",
        scope="mutants", footer=8,
    ),
    Action(
        "mutants.figures", ("i",), "Figures",
        "Show all figures above the table with their meaning, or one line",
        "Mutants",
        scope="mutants", footer=19,
    ),
    Action(
        "mutants.state", ("f",), "State",
        "Show only mutants of one state (killed, alive, ...), or all",
        "Mutants",
        scope="mutants", footer=17,
    ),
    Action(
        "mutants.survivors", ("v",), "Survivors",
        "Show only the survivors, by groups; then one group", "Mutants",
        scope="mutants", footer=9, queue=False,
    ),
    Action(
        "mutant.killer", ("backspace",), "Killer",
        "Go to the entry that killed the mutant, or came nearest", "Mutants",
        scope="mutants", check=why_no_row, footer=22,
    ),
    Action(
        "mutant.copy", ("c",), "Copy id",
        "Copy the mutant's id, for `fuzztui ctl` and `fuzztui mutants`", "Mutants",
        scope="mutants", check=why_no_row, footer=23,
    ),
    Action(
        "mutant.copy_place", ("C",), "Copy location",
        "Copy path and line of the mutant", "Mutants",
        scope="mutants", check=why_no_row, footer=24,
    ),
    source_link("mutants", "Mutants", "the mutant's line"),
    editor("mutants", "Mutants", "the mutant's file at its line"),
)  # fmt: skip
