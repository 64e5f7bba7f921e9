"""The supervisor's side of in-process engines: ``spec.json``, requests, checks."""
