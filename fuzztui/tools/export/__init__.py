"""Results as files that other tools read: tests for pytest, corpus directories, coverage."""
