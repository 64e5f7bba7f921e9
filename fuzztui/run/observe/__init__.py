"""Observe instance directories in AFL's layout: from their files to events for the log."""
