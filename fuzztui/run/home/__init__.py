"""The runs of a user on this machine: finding them, and one row about each."""
