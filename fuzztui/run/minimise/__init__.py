"""Minimise findings with afl-tmin, with an in-process engine, or with the program oracle."""
