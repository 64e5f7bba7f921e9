"""Features: a folder for each (docs/features.md). Those that add to other rooms are listed here."""

BUILT_IN = (
    "fuzztui.features.verdicts:FEATURE",
    "fuzztui.features.mutants:FEATURE",
    "fuzztui.features.mutators:FEATURE",
    "fuzztui.features.targeting:FEATURE",
    "fuzztui.features.fuzzfirst:FEATURE",
    "fuzztui.features.oracle:FEATURE",
    "fuzztui.features.gcov:FEATURE",
    "fuzztui.features.minimise:FEATURE",
    "fuzztui.features.corpus:FEATURE",
    "fuzztui.features.findings:FEATURE",
    "fuzztui.features.properties:FEATURE",
    "fuzztui.features.source:FEATURE",
    "fuzztui.features.comparisons:FEATURE",
    "fuzztui.features.notify:FEATURE",
    "fuzztui.features.jobs:FEATURE",
    "fuzztui.features.targets:FEATURE",
    "fuzztui.machines.hosts:FEATURE",
    "fuzztui.machines.siblings:FEATURE",
)
"""These features are asked in this order, then those of installed packages. The order matters:
constants that choices select (targeting) are fixed before any seed is run (fuzzfirst, corpus)."""
