"""The Properties screen of a suite."""
