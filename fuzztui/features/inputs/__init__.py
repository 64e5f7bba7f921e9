"""Views of an input: its text or values, its bytes, what changed against its parent."""
