"""Widgets drawn line by line, each repainting no more than what changed."""
