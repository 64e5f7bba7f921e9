"""What the columns of the Corpus screen mean."""

from fuzztui.tui.labels.legend import Legend

LEGEND = Legend({
    "corpus": {
        "entry": "Instance and number in its queue",
        "steer": "★ favored by the scheduler; or what a user asked for: promoted, demoted, skipped",
        "input": "Start of the input: of what a generator made, of the text, or of the bytes",
        "t": "Campaign time at which the entry was found",
        "size": "Size of its file; of generated inputs: of the choices",
        "edges": "Cells of the coverage map that it covers",
        "kills": "Mutants that it was the first to kill",
        "why": "Why it was kept: seed, edge, valid-edge (first valid input there), kill, whole "
        "(mutants are still to run on it), imported",
        "outcome": "How the target took it: success, or invalid (rejected as documented)",
        "thanks": "The mutant whose fuzzing found it (fuzz-first)",
        "op": "The mutator that made it, and how often it was applied",
        "src": "Its parents' numbers", "host": "The host of its instance: only for the filter",
    },
})  # fmt: skip
