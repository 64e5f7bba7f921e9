"""From files in AFL-shaped directories to events for the log."""
