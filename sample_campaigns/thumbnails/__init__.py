"""Contact sheets of photographs: Section II of the SpotOn paper, for Python."""
