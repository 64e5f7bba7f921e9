"""spoton: zest that aims its mutations at the types that decide uncovered branches."""
