"""The processes of an engine: worker monitor, worker, and commands that run outside a campaign."""
