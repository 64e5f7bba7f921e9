"""The fuzzing loop: stages, corpus, schedulers, feedbacks, mutators, trimming."""
