"""What the columns of the Source screen mean."""

from fuzztui.tui.labels.legend import Legend

LEGEND = Legend({
    "source": {
        "code": "Files, and below each its functions",
        "cover": "Part of the statements that a queue entry, or the import, has executed",
        "frontier": "Lines on the frontier: never executed, but the decision before them was",
        "score": "Killed mutants of those that are killed or survive",
        "left": "Mutants that no input has killed, though one could",
        "findings": "Groups of findings whose stack ends here",
    },
    "code": {
        "line": "Number of the line",
        "cov": "█ covered, ▒ partly (a branch was never taken), ╳ finding (reached by a finding "
        "only, which does not count as covered), ◆ frontier (never executed, but the decision "
        "before it was), ░ never; nothing: no statement begins here",
        "mutants": "Mutants on the line: ● alive, ◌ pending, ✓ killed, ⊘ skipped, ≡ equivalent",
        "findings": "Groups of findings whose stack ends on the line: ✗ crash, ▲ hang, ≠ differs",
        "types": "The type that decides the line's uncovered goal",
        "code": "The line",
    },
})  # fmt: skip
