"""Features: a folder for each (docs/features.md); hosts stand in ``machines``."""
