"""Observe the types of un-annotated parameters while a target runs (docs/targets.md)."""
