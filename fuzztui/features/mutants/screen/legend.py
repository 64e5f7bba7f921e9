"""What the columns of the Mutants screen mean, and the words above them."""

from fuzztui.tui.labels.legend import Legend

LEGEND = Legend({
    "mutants": {
        "state": "killed, alive (no input has killed it yet), pending (run on no input yet); "
        "after the end also never reached (by any input), not run (the end came before); "
        "accepted (it may survive), skipped, equivalent, invalid (cannot be made)",
        "steer": "What a user asked for",
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
        "excluded": "Skipped, or equivalent",
        "score": "Killed of all that can be made; in a worklist: of those with a verdict",
        # The worklist of fuzz-first:
        "number": "Position among the mutants that wait for their turn",
        "stage": "Progress: waits, is built, fuzzed, done, failed to build, duplicate, rejected",
        "turn": "When its turn starts, how far it is, or how long it took",
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
        "excluded": "Skipped or equivalent; the adjusted score is without these",
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
