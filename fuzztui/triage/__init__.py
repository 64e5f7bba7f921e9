"""Running an input on the target program again, and describing how it fails."""
