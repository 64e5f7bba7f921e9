"""What the columns of the Properties screen mean."""

from fuzztui.tui.labels.legend import Legend

LEGEND = Legend({
    "properties": {
        "property": "A test with @given, or another target of the suite",
        "state": "run, failed (it has findings), off (weight 0), or not run: the details say why",
        "share": "Its part of the work from now on, by its yield and weight; work is loop turns "
        "and calls, not time",
        "weight": "Your weight, if it is not 1; 0 is off",
        "trials": "Inputs that were tried", "entries": "Queue entries that are for it",
        "edges": "Cells that its own entries cover", "findings": "Its findings by signature",
        "killed": "Mutants that its inputs were the first to kill",
        "cpu": "CPU time that its trials took", "invalid": "Part of its inputs that were rejected",
    },
})  # fmt: skip
