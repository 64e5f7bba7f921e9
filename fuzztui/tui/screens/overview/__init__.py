"""The Overview: totals, instances, the latest events."""
