"""Helpers that do not depend on campaigns: files, text, bounds. Standard library only."""
