"""Minimising findings: by afl-tmin, by an in-process engine, by a program oracle."""
