"""An instance's directory (``out/ID``): store, events, commands, statistics, sync."""
