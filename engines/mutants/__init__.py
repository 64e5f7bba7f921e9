"""Mutants of a Python program: what they are, running them in place, who may be affected.

Nothing here knows of fuzzing. ``operators`` says what can be changed, ``sites`` finds where,
``units`` compiles, ``program`` swaps, ``probing`` watches which mutants could matter.
"""
