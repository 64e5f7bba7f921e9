"""Mutants of a Python program: enumerate them, run them in place, observe which are infected.

This package does not depend on fuzzing. ``operators`` defines the mutations, ``sites`` finds their
places, ``rows`` caches what they show, ``units`` compiles, ``program`` swaps, and
``probe_recorder`` records infection.
"""
