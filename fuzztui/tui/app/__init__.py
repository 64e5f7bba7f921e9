"""The application: its screens, the feed of changes, replay, the command palette."""
