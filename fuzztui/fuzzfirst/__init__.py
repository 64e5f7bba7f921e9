"""Fuzz-first: the mutants of a program are fuzzed, then the program itself."""
