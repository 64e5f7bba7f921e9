"""zest: coverage-guided fuzzing of bytes or of a generator's choices."""
