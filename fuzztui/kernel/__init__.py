"""What every part knows: events and commands, the log, the state that the log gives."""
