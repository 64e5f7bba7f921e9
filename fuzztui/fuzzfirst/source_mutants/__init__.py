"""Mutants of programs in any language, as texts: made by universalmutator's rules, ranked by FPF.

(The mutants of Python programs that engines switch on and off while they run are another
thing: ``engines/mutants``.)
"""
