"""One instance over its life: the interface of launchers, its process, restarts."""
