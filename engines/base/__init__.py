"""What all parts of an engine use: the spec, errors, diagnostics. Standard library only."""
