"""What the columns of the Findings screen mean."""

from fuzztui.tui.labels.legend import Legend

LEGEND = Legend({
    "findings": {
        "kind": "crash, hang, or differs (two implementations disagree)",
        "verdict": "A user's: known, fixed, won't fix; regression: was fixed, and is found again",
        "met": "How often its signature was met; with v: whether the file is the first",
        "title": "The error, or the signal",
        "place": "Innermost line of the application",
        "t": "Campaign time of the first finding of the group",
        "by": "The instance that found it",
        "host": "The hosts on which the group was found, of a campaign on several machines",
        "thanks": "The mutant whose fuzzing found it (fuzz-first)",
        "size": "Size of its file",
    },
})  # fmt: skip
