"""What can be done on the screen of mutants; see :mod:`fuzztui.tui.frame.actions`."""

from __future__ import annotations

from fuzztui.tui.frame.action_context import (
    Action,
    doubtful,
    in_queue,
    mutants,
    pausable,
    promotable,
    row,
    skippable,
    triable,
    waiting,
)

__all__ = ["MUTANTS"]

MUTANTS = (
    Action(
        "mutant.promote", ("u",), "Promote",
        "Run it on every input that reaches it; in a queue: fuzz it next, three times as long",
        "Mutants",
        scope="mutants", needs="promote-mutants", does="promote mutants",
        check=promotable, footer=10, mode="live",
    ),
    Action(
        "mutant.skip", ("d",), "Skip",
        "Do not run it any more; in a queue: fuzz it not at all, or no longer", "Mutants",
        scope="mutants", needs="skip-mutants", does="skip mutants",
        check=skippable, footer=11, mode="live",
    ),
    Action(
        "mutant.equivalent", ("e",), "Equivalent",
        "Your verdict that nothing can kill it, and why", "Mutants",
        scope="mutants", needs="mark-equivalent", does="take verdicts on mutants",
        check=doubtful, footer=13, mode="live",
    ),
    Action(
        "mutant.requeue", ("r",), "Requeue",
        "Forget verdict, place and kill, and try it again", "Mutants",
        scope="mutants", needs="requeue-mutants", does="requeue mutants",
        check=triable, footer=14, mode="live",
    ),
    Action(
        "mutant.first", ("less_than_sign",), "First",
        "When mutants wait for their turn, it comes first", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=waiting, footer=15, mode="live",
    ),
    Action(
        "mutant.last", ("greater_than_sign",), "Last",
        "When mutants wait for their turn, it comes last", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=waiting, footer=16, mode="live",
    ),
    Action(
        "mutant.up", ("K", "shift+up"), "Up",
        "In a queue: one place up", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=in_queue, footer=14, mode="live", queue=True,
    ),
    Action(
        "mutant.down", ("J", "shift+down"), "Down",
        "In a queue: one place down", "Mutants",
        scope="mutants", needs="move-mutants", does="reorder mutants",
        check=in_queue, footer=14, mode="live", queue=True,
    ),
    Action(
        "mutant.many", ("m",), "Many",
        "The same for all mutants of its function, file, operator, or of the filter", "Mutants",
        scope="mutants", check=mutants, footer=12, mode="live",
    ),
    Action(
        "mutants.exact", ("E",), "Exact pass",
        "Run every living mutant on every input of the corpus now: the sound score", "Mutants",
        scope="mutants", needs="exact-pass", does="make an exact pass",
        check=pausable, footer=18, mode="live", queue=False,
    ),
    Action(
        "mutants.state", ("f",), "State",
        "Show only killed ones, alive ones, ... (in a queue: waiting, done, failed, ...), or all",
        "Mutants",
        scope="mutants", footer=17,
    ),
    Action(
        "mutant.killer", ("backspace",), "Killer",
        "Go to the queue entry that killed it", "Mutants",
        scope="mutants", check=row, footer=22,
    ),
    Action(
        "mutant.copy", ("c",), "Copy id",
        "Copy the mutant's id, as `fuzztui ctl` and `fuzztui mutants` take it", "Mutants",
        scope="mutants", check=row, footer=23,
    ),
    Action(
        "mutant.copy_place", ("C",), "Copy place",
        "Copy path and line of the mutant", "Mutants",
        scope="mutants", check=row, footer=24,
    ),
)  # fmt: skip
