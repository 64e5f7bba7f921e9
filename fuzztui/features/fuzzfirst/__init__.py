"""Fuzz-first: fuzz the mutants of a target, then the target itself with what they found."""
