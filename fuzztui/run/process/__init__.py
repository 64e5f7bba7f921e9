"""Run, identify, reap and restart processes, trusted or not."""
