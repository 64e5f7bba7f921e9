"""Type targeting (SpotOn): which types influence which branches of a Python target."""
