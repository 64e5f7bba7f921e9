"""The verdicts file: what users say about findings, for all runs of a campaign file."""
