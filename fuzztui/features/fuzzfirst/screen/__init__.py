"""The Mutants screen of a fuzz-first campaign: the worklist of mutants."""
