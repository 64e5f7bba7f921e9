"""Features: one folder for each."""
