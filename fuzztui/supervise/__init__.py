"""Supervising a campaign: its engines' processes, their directories, its log."""
