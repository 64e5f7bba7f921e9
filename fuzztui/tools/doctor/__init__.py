"""What a machine has for fuzzing, and what to do about what it lacks."""
