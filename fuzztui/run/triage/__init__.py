"""Run an input on the target program again, and describe how the program fails."""
