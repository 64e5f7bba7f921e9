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

_action = partial(Action, group="Mutants", scope="mutants")

_steering = partial(_action, mode="live")
"""An action that changes what becomes of mutants."""

_move = partial(_steering, needs="move-mutants", does="reorder mutants")

ACTIONS: Final[tuple[Action, ...]] = (
    _steering("mutant.promote", ("u",), "Promote",
        "Run it on every input that reaches it; in a worklist: next, triple time",
        needs="promote-mutants", does="promote mutants", check=why_not_promote, footer=10,
        command=PromoteMutants),
    _steering("mutant.skip", ("d",), "Skip",
        "Do not run this mutant any more; in a worklist: end its turn", needs="skip-mutants",
        does="skip mutants", check=why_not_skip, footer=11, command=SkipMutants),
    _steering("mutant.equivalent", ("equals_sign",), "Equivalent",
        "Mark the mutant as equivalent, with a reason", needs="mark-equivalent",
        does="mark mutants equivalent", check=why_not_equivalent, footer=13,
        command=MarkEquivalent),
    _steering("mutant.accept", ("A",), "Accept",
        "Accept that the mutant survives, with a reason; again: no more", check=why_not_accept,
        footer=13, queue=False, command=AcceptMutants),
    _steering("mutant.requeue", ("r",), "Requeue",
        "Reset verdict, position and kill, and run the mutant again", needs="requeue-mutants",
        does="requeue mutants", check=why_not_requeue, footer=14, command=RequeueMutants),
    _move("mutant.first", ("less_than_sign",), "First",
        "Move the mutant to the front of the waiting ones", check=why_not_move, footer=15,
        command=partial(MoveMutants, to="first")),
    _move("mutant.last", ("greater_than_sign",), "Last",
        "Move the mutant to the end of the waiting ones", check=why_not_move, footer=16,
        command=partial(MoveMutants, to="last")),
    _move("mutant.up", ("K", "shift+up"), "Up", "Move the mutant one position up in the worklist",
        check=why_not_move_step, footer=14, queue=True, command=partial(MoveMutants, to="up")),
    _move("mutant.down", ("J", "shift+down"), "Down",
        "Move the mutant one position down in the worklist", check=why_not_move_step, footer=14,
        queue=True, command=partial(MoveMutants, to="down")),
    _steering("mutant.many", ("m",), "Many",
        "Do this for all of a function, file, operator, or the filter",
        check=why_not_select_mutants, footer=12),
    _steering("mutants.use", ("U",), "Use",
        "Fuzz the next mutants one at a time, or one for each instance", check=why_not_use,
        queue=True),
    _steering("mutants.exact", ("E",), "Exact pass",
        "Run every survivor on the whole corpus now: an exact score", needs="exact-pass",
        does="make an exact pass", check=why_not_pause, footer=18, queue=False),
    _action("mutants.functions", ("t",), "Functions",
        "Switch between mutants and files and functions with their scores", footer=8),
    _action("mutants.figures", ("i",), "Figures",
        "Show all figures above the table with their meaning, or one line", footer=19),
    _action("mutants.state", ("f",), "State",
        "Show only mutants of one state (killed, alive, ...), or all", footer=17),
    _action("mutants.survivors", ("v",), "Survivors",
        "Show only the survivors, by groups; then one group", footer=9, queue=False),
    _action("mutant.killer", ("backspace",), "Killer",
        "Go to the entry that killed the mutant, or came nearest", check=why_no_row, footer=22),
    _action("mutant.copy", ("c",), "Copy id",
        "Copy the mutant's id, for `fuzztui ctl` and `fuzztui mutants`", check=why_no_row,
        footer=23),
    _action("mutant.copy_place", ("C",), "Copy location", "Copy path and line of the mutant",
        check=why_no_row, footer=24),
    source_link("mutants", "Mutants", "the mutant's line"),
    editor("mutants", "Mutants", "the mutant's file at its line"),
)  # fmt: skip
