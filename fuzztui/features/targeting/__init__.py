"""Type targeting (SpotOn): find the types that influence the goals of a Python target."""
