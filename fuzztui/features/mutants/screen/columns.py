"""The columns of the mutants table of mutation analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.features.fuzzfirst.screen.mutant_details import PLACE, change_cell, cut_place
from fuzztui.kernel.model.mutants import Knowledge
from fuzztui.kernel.model.state import Mutant
from fuzztui.tui.base import format
from fuzztui.tui.base.columns import NARROW, NEVER, Cell, Column, count_column
from fuzztui.tui.labels.legend import Legend
from fuzztui.tui.labels.mutants import GROUP_LABELS, group_rank, place, rank, state_sign

STEER = 11
"""Cells for a command about a mutant, a glyph and a word, or for what came since."""


def columns(
    steer: Callable[[Mutant], Cell],
    group: Callable[[Mutant], str],
    known: Callable[[], Knowledge],
) -> Sequence[Column[Mutant]]:
    """Return the columns; ``steer`` returns what a user did to the mutant's position, ``group`` the
    group of a survivor, ``known`` what is known of mutants that have not run.
    """

    def state(mutant: Mutant) -> Cell:
        glyph, word = state_sign(mutant, known())
        return f"{glyph.glyph} {word}", glyph.style

    def order(mutant: Mutant) -> tuple[int, int]:
        return rank(state_sign(mutant, known())[1]), group_rank(mutant)

    def survivor(mutant: Mutant) -> Cell:
        return GROUP_LABELS.get(group(mutant), ""), "muted"

    return (
        Column(
            # The groups of survivors in their order, the most interesting first.
            "state", "state", state, order, min=9, max=15,
        ),
        Column(
            # With a fixed width: no command, or in a narrow table only the first, moves others.
            "steer", "steer", steer, lambda m: m.steer, min=STEER, max=STEER, needs=50,
            spare_below=NARROW, stays=True, descending=True
        ),
        Column("operator", "operator", _operator, lambda m: m.operator, max=12, needs=50),
        Column(
            "place", "where", _place, lambda m: (m.file, m.line), max=PLACE, give=13, cut=cut_place
        ),
        Column("function", "function", _function, lambda m: m.function, max=30, needs=130,
               yields=14),
        Column("change", "change", change_cell, lambda m: (m.before, m.after), min=18, max=120,
               flex=True),
        Column("group", "survivor", survivor, group_rank, max=13, needs=140, spare=True),
        count_column("runs", "runs", lambda m: m.runs, zero="0", needs=70),
        count_column("infected", "infected", lambda m: m.infected, zero="0", needs=150),
        Column("killer", "killed by", _killer, lambda m: m.killer, max=12, needs=110, spare=True),
        Column("oracle", "how", _oracle, lambda m: m.oracle, max=9, needs=100, spare=True),
        Column("t", "killed", _killed, _kill_order, "right", min=7, max=12, needs=100,
               spare=True),
        Column("text", "", _text, None, needs=NEVER),
    )  # fmt: skip


def _operator(mutant: Mutant) -> Cell:
    return mutant.operator, "muted" if mutant.static else ""


def _place(mutant: Mutant) -> Cell:
    return cut_place(place(mutant), PLACE), ""


def _function(mutant: Mutant) -> Cell:
    return mutant.function, "muted"


def _killer(mutant: Mutant) -> Cell:
    return mutant.killer, "corpus"


def _oracle(mutant: Mutant) -> Cell:
    return mutant.oracle, "muted"


def _killed(mutant: Mutant) -> Cell:
    return (format.clock(mutant.killed_t), "muted") if mutant.killed_t >= 0 else ("", "")


def _kill_order(mutant: Mutant) -> tuple[bool, float]:
    """Killed mutants come first."""
    return mutant.killed_t < 0, mutant.killed_t


def _text(mutant: Mutant) -> Cell:
    static = "static" if mutant.static else ""
    parts = (mutant.id, mutant.file, mutant.before, mutant.after, mutant.reason, mutant.detail)
    return " ".join((*parts, static)), ""


LEGEND = Legend({
    "mutants": {
        "state": "killed, alive (no input has killed it yet), pending (run on no input yet); "
        "after the end also never reached (by any input), not run (the end came before); "
        "accepted (it may survive), skipped, equivalent, invalid (cannot be made)",
        "steer": "What a user asked for, and what came since: further runs, or time saved",
        "operator": "The kind of change",
        "place": "File and line", "function": "The function around it",
        "change": "What is changed: [old → new], [+ new], [- old]",
        "group": "How near any input came to killing a survivor",
        "runs": "Inputs on which it was run", "infected": "Inputs on which its expression differed",
        "killer": "The first entry that killed it",
        "oracle": "How: another value or output, an exception, no end",
        "t": "Campaign time of the kill",
        # Files and functions:
        "code": "File, and below it its functions; those with the most mutants left first",
        "left": "Mutants that are alive or pending", "total": "Mutants of any state",
        "killed": "Mutants that an input has killed",
        "alive": "Mutants that were run, and that no input has killed",
        "pending": "Mutants that were run on no input yet",
        "ran": "Run on inputs that gave the expression another value; the result was the same",
        "same": "Reached, and the expression always had the same value",
        "unreached": "No input has executed the expression",
        "waits": "An input infected them, or they are static: the exact pass runs them",
        "excluded": "Skipped, or equivalent: not killed in the score",
        "score": "Killed of all that can be made; in a worklist: of those with a verdict",
        # The worklist of fuzz-first:
        "number": "Position among the mutants that wait for their turn",
        "stage": "Progress: waits, is built, fuzzed, done, failed to build, duplicate, rejected",
        "turn": "When its turn starts, how far it is, or how long it took",
        "hides": "Lines that no input executed behind the condition that it changes, when ranked",
        "slot": "The instance of its turn",
        "build": "Seconds that building it took",
        "entries": "New entries that its inputs brought the target",
        "edges": "New edges of the target that its inputs cover",
        "crashes": "Findings that its inputs brought the target",
        "kills": "Mutants that its inputs killed",
        "verdict": "Killed, or alive after its turn",
    },
}, {
    "mutants": {
        "alive": "Run on some inputs, and killed by none",
        "pending": "Run on no input yet; the groups of survivors say why",
        "not run": "The budget or a stop came before they were run; fuzztui score RUN runs them",
        "never reached": "After the end: no input has executed the expression",
        "skipped": "Or equivalent: not killed in the score, and left out of the adjusted one",
        "static": "Of all mutants: those in code that runs at import; each run needs a process",
        "schedule": "Part of the trials that run mutants at once",
        "backlog": "Pairs of saved inputs and mutants that are still to run",
        "pairs": "One mutant on one input each; pruned ones are not run: they cannot kill",
        "deferred": "Pairs that the schedule has left for the exact pass",
        "audits": "Pruned pairs that were run all the same, to check the pruning",
        "at least": "Pairs are left that may kill: the score is a lower bound until an exact pass",
    },
    "fuzz-first": {
        "phase": "First mutants are fuzzed, then the target with what they found",
        "now": "The turns that are running, with the used part of their budgets",
        "gain": "What inputs of mutants have brought the target: the transfer",
        "pruned": "Inputs on which a mutant fails at once: its turn begins without them",
        "rejected": "Mutants that fail on too many inputs to be fuzzed",
        "duplicate": "Mutants that are the same program as another one",
    },
})  # fmt: skip
"""What the columns mean, and the words above them."""
