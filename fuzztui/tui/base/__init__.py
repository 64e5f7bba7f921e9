"""Widgets and drawing that know no campaign: each repaints no more than what changed."""
