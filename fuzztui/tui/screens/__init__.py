"""The screens: one file each, all fed by the same state."""
