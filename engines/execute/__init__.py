"""Executing one input: the executor, its limits, and forked children."""
