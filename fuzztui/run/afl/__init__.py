"""AFL++ as an engine: its launcher, fleet options, libraries, statistics."""
