"""The processes of an engine: monitor, worker, and what runs outside a campaign."""
