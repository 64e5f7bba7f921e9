"""Parts that all rooms of the engines use: spec, errors, diagnostics. Standard library only."""
