"""spoton: zest whose mutations are directed at the types that decide uncovered branches."""
