"""What the columns of the Mutators screen mean, and the words above them."""

from fuzztui.tui.labels.legend import Legend

LEGEND = Legend({
    "mutators": {
        "yield": "New edges of its finds for each hour of CPU time of all instances, lately",
        "operator": "The text mutator", "class": "text, template or splice",
        "tried": "Attempts", "applied": "Attempts that changed the input",
        "hits": "Applied of tried", "found": "New entries made by it",
        "crashes": "Crashes found by it",
        "pays": "New entries per million uses; in brackets: too few "
        "uses or entries to compare, sorted below", "weight": "Its weight among all, as a bar",
        "share": "Its part of all attempts", "does": "What it does",
    },
}, {
    "mutators": {
        "havoc": "Random edits of bytes", "text": "Text mutators: edits of syntax",
        "splice": "A part of another input is put into this one",
        "adaptive": "Mutators with more new entries become more probable; fixed: as set",
        "( )": "In brackets: too few uses or entries to compare; sorted below the others",
    },
})  # fmt: skip
