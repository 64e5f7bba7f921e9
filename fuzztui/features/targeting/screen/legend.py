"""What the columns of the Types screen mean, and the words above them."""

from fuzztui.tui.labels.legend import Legend

LEGEND = Legend({
    "types": {
        "type": "A type of the target's parameters and attributes",
        "chance": "Probability of being drawn next", "weight": "Your weight; 0 is banned",
        "distance": "Steps of data flow from the type to the nearest uncovered goal; 0 is nearest",
        "arms": "Edges first covered by an input targeted at the type",
        "match": "Part of the draws for which the input had choices of the type; else a miss",
        "picks": "Times it was drawn",
        "factor": "Misses divide its probability by this",
        "left": "Ignored, pinned, or on the frontier (an input has reached its decision)",
        "goal": "Ignored, pinned, or on the frontier (an input has reached its decision)",
        "where": "File, line and branch of the uncovered goal",
        "reached": "Checked trials that reached its decision",
        "types": "The types that decide it, nearest first, each with its distance: steps of data "
        "flow; 0 is nearest",
    },
}, {
    "types": {
        "covered": "Goals whose branch an input has taken",
        "frontier": "Uncovered goals whose decision an input has reached",
        "further off": "Uncovered goals whose decision no input has reached",
        "targeted": "Part of the mutations that are directed at types",
        "next": "The types that are drawn next most probably",
        "pinned": "The only goal that is targeted, until it is covered",
        "ignored": "Goals that are not targeted, as a user has set",
    },
})  # fmt: skip
