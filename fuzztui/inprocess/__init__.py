"""In-process engines as the supervisor sees them: ``spec.json``, questions, checks."""
