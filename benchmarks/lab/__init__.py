"""Shared by ``benchmarks/`` and ``experiments/``: options, rows, subjects, statistics."""
