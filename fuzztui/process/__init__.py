"""Running, identifying, reaping and restarting processes, trusted or not."""
