"""Home: the runs of this machine, several live ones side by side, and new campaigns."""
