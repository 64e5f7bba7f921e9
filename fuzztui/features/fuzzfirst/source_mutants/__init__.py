"""Mutants of source text in any language: made by universalmutator's rules, ranked by FPF.

(Mutants that in-process engines switch on and off at run time are in ``engines/mutants``.)
"""
