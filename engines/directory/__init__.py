"""The directory of an instance (``out/ID``): files, events, commands, statistics, sync."""
