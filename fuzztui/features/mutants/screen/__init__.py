"""The Mutants screen: mutation analysis, and the selection that a command is for."""
