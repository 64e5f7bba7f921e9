"""Importing the target with instrumentation: edges, comparisons, third-party coverage."""
