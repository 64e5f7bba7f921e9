"""Helpers without any knowledge of campaigns: files, text, bounds. Standard library only."""
