"""AFL++ as an engine: its instances, its options, and what it finds."""
